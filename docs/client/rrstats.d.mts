/** Types of rrstats.mjs. Copy both beside your page. MIT licence, like rrstats. */

/** A rational number: numerator and denominator, which is positive. */
export type Rational = readonly [bigint, bigint];

/** What JSON holds, with whole numbers as BigInt. */
export type ExactJson = string | number | bigint | boolean | null | ExactJson[] | { [name: string]: ExactJson };

/** A label with its type, such as `{"str": "once"}`; in a codebook with a text for readers beside it. */
export type Label = (
  | { readonly str: string }
  | { readonly int: bigint | number }
  | { readonly float: number | bigint | "inf" | "-inf" }
  | { readonly bool: boolean }
  | { readonly bytes: string }
  | { readonly date: string }
  | { readonly missing: true }
  | { readonly tuple: readonly Label[] }
) & { readonly label?: string };

/** A true answer: a category's label, or a plain value that equals one. What equals none is refused, or replaced. */
export type Answer = Label | string | number | bigint | boolean | null | undefined;

/** A source of words: uniform whole numbers below 2 ** bits, each at its address. */
export interface Words {
  take(stream: number, round: number, bits: 8 | 16 | 32 | 64): bigint;
}

interface AnyDesign {
  readonly categories: readonly Label[];
  /** The place of each category by the key of its label. */
  readonly codes: ReadonlyMap<string, number>;
  /** The 16 hexadecimal digits that stand in every text of a report. */
  readonly fingerprint: string;
  /** The number of categories. */
  readonly k: number;
}

/** A design whose report is one label: the code of it along `reports`. */
export interface LabelDesign extends AnyDesign {
  readonly type: "KRR" | "MatrixDesign" | "Chain" | "Samples";
  readonly reports: readonly Label[];
  /** P(report = truth), of KRR alone. */
  readonly prob?: Rational;
  draw(code: number, words: Words): number;
}

/** A design whose report is a bit for each category: bit y is bit y mod 8, the lowest first, of byte floor(y / 8). */
export interface BitDesign extends AnyDesign {
  readonly type: "UnaryEncoding" | "SymmetricUnary" | "OptimizedUnary" | "Rappor" | "SubsetSelection" | "Chain" | "Samples";
  readonly reports?: undefined;
  /** How many bits: one for each category. */
  readonly bits: number;
  draw(code: number, words: Words): Uint8Array;
}

export type Design = LabelDesign | BitDesign;

/** Parse JSON without rounding: whole numbers become BigInt, others Number. */
export function parseExactly(text: string): ExactJson;

/** The rational number that a Number, a BigInt or a text such as "2/3" is. */
export function exact(value: number | bigint | string): Rational;

/** The system's cryptographic generator. */
export const freshWords: Words;

/** True with the probability. */
export function coin(words: Words, stream: number, probability: Rational): boolean;

/** 0 .. bound - 1, each with the same probability. */
export function below(words: Words, stream: number, bound: number): number;

/** The cell of a uniform number in [0, 1), between increasing cuts. */
export function cells(words: Words, stream: number, cuts: readonly Rational[]): number;

/** Read the JSON text of `mechanism`, `fingerprint` and, for survey designs, `drawn_as`; `group` names the sample. */
export function readDesign(text: string, group?: Answer): Design;

export interface Options {
  /** An answer that is missing or no category throws a RangeError, or is replaced by a random category. */
  readonly unknown?: "raise" | "uniform";
  /** For test vectors. */
  readonly words?: Words;
}

/** The report of one answer. Each call is a release: call it once for an answer. */
export function privatize(answer: Answer, design: LabelDesign, options?: Options): number;
export function privatize(answer: Answer, design: BitDesign, options?: Options): Uint8Array;
export function privatize(answer: Answer, design: Design, options?: Options): number | Uint8Array;

/** The text of a report, the only thing to send. */
export function encode(report: number | Uint8Array, design: Design): string;
