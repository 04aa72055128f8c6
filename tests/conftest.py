"""For all tests: signals as a terminal gives them, and no deadline for examples of hypothesis."""

import contextlib
import signal

# `nohup python -m pytest &` starts with these ignored, and so would every child process.  A
# handler is not inherited: under nohup a hang-up still ends nothing here, and the children.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
if hasattr(signal, "SIGHUP") and signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
    signal.signal(signal.SIGHUP, lambda *_: None)

with contextlib.suppress(ImportError):
    import hypothesis

    hypothesis.settings.register_profile("no deadline", deadline=None)
    hypothesis.settings.load_profile("no deadline")
