"use strict";
/* The comparison of two recordings: which differences are larger than the
 * noise.  The verdicts on functions over all samples are pyconv's
 * (include/pyrec/compare.h); other sums are judged here by the same bounds. */

const VERDICTS = ["", "", "worse", "better", "new", "gone"];
const MARKS = { "": "", worse: "\u25b2", better: "\u25bc", new: "+", gone: "\u2212" };
const ENOUGH = 10, LEAST_US = 300; /* as compare.h has them */

class Changes {
  constructor(facts) {
    Object.assign(this, facts.compare);
  }

  /* Both are {us, n}; whole: the time of all that is selected on each side. */
  verdict(now, base, whole) {
    if (!base.n || !now.n) {
      if (Math.max(base.n, now.n) < ENOUGH) return "";
      return base.n ? "gone" : "new";
    }
    if (Math.max(now.us / whole.now, base.us / whole.base) < this.least_share) return "";
    const log = (side) => Math.log(Math.max(side.us, LEAST_US));
    const step = log(now) - log(base) - Math.log(this.centre);
    const noise = Math.sqrt(1 / now.n + 1 / base.n + 2 * this.between_sd ** 2);
    if (Math.abs(step) < this.z * noise || Math.abs(step) <= Math.log1p(this.least_effect)) return "";
    return step > 0 ? "worse" : "better";
  }

  /* On the self time of a function over all samples. */
  ofFunction(func) {
    return VERDICTS[this.verdicts[func]];
  }
}

/* "+12.3 %"; without a base there is nothing to divide by. */
function changeText(now, base) {
  if (!base) return now ? "new" : "";
  const percent = 100 * (now / base - 1);
  return `${percent < 0 ? "\u2212" : "+"}${Math.abs(percent).toFixed(1)} %`;
}
