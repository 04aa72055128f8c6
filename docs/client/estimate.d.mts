/** Types of estimate.mjs. MIT licence, like rrstats. */

import type { Rational } from "./rrstats.mjs";

/** Arrays along the categories. */
export interface Estimate {
  /** Reports. */
  readonly n: number;
  /** Unbiased true proportions, which may lie outside [0, 1]; NaN without reports. */
  readonly proportions: readonly number[];
  /** Standard errors; NaN for fewer than two reports. */
  readonly std_error: readonly number[];
  /** Ends of the default 95% intervals. */
  readonly low: readonly number[];
  readonly high: readonly number[];
}

/** A row of a drawing; proportions are numbers, 0.1 for 10%. */
export interface Row {
  readonly name: string;
  readonly low: number;
  readonly high: number;
  readonly proportion?: number;
  readonly truth?: number;
}

export interface Drawing {
  /** What is drawn, for those who hear the page. */
  readonly title?: string;
  /** Pixels, by default 640. */
  readonly width?: number;
  /** Decimal places of the percents that are written, by default 1. */
  readonly places?: number;
}

export function estimate(counts: readonly number[], prob: number): Estimate;
export function populationInterval(
  count: number,
  n: number,
  rates: readonly [q: number, p: number, ...rest: number[]],
  exactRates?: readonly [low: number, high: number],
): [low: number, high: number];
export function clopperPearson(count: number, n: number): [low: number, high: number];
export function rates(k: number, prob: number): [q: number, p: number, gap: number];
/** The text of an SVG. */
export function drawIntervals(rows: readonly Row[], options?: Drawing): string;
export function escaped(text: unknown): string;
export function fixed(value: number, places: number): string;
export function percent(value: number, places?: number): string;
export function toDouble(value: Rational): number;
