// Numbers and names as text.

export const NAMES = {
  attention_accuracy: "attention",
  recall_accuracy: "recall",
  first_gradient_accuracy: "first gradient",
};

export const SIZE_WORDS = {
  vocab: "facts (vocabulary)",
  samples: "samples (sequences in the batch)",
  dim: "dimension of the embeddings",
  length: "length of a sequence",
  width: "width of the MLP",
};

/** What each noise is, in one sentence, and what lowers it. */
export const NOISES = {
  interference: {
    title: "interference",
    says: "Facts share the same d dimensions, so each stored fact also answers when another is asked for. No amount of data removes it.",
    helps: ["dim", "vocab"],
  },
  kernel_interference: {
    title: "kernel interference",
    says: "The same interference, through the curved part of the activation.",
    helps: ["dim", "vocab"],
  },
  gradient_noise: {
    title: "gradient noise",
    says: "Distractors that happened to occur with a label in the batch. More samples average them out; longer sequences have more of them.",
    helps: ["samples", "dim", "length"],
  },
  mlp_noise: {
    title: "MLP noise",
    says: "A finite number of random hidden units is not their average.",
    helps: ["width", "dim"],
  },
  mean_bias: {
    title: "mean bias",
    says: "What all sequences have in common, times how unevenly the batch shows the labels.",
    helps: ["samples", "dim"],
  },
  cross_talk: {
    title: "cross-talk",
    says: "Every token overlaps the trigger a little, and takes that fraction of its attention score.",
    helps: ["dim", "length"],
  },
  sampling: {
    title: "sampling",
    says: "Some facts happened to be seen less often than the average, and some perhaps never. This spreads the signal of the right label itself, so it is not added to what rivals have.",
    helps: ["samples", "vocab"],
  },
};

/** A size with thin separators, or ∞. */
export function whole(value) {
  if (value === Infinity) return "∞";
  if (value >= 1e7) return Number(value.toPrecision(3)).toExponential().replace("e+", "e");
  return String(Math.round(value)).replace(/\B(?=(\d{3})+$)/g, "\u202f");
}

/** A number to some significant digits. */
export function digits(value, count = 3) {
  if (value === 0) return "0";
  if (!Number.isFinite(value)) return value > 0 ? "∞" : "–";
  if (Math.abs(value) < 1e-3 || Math.abs(value) >= 1e6) {
    const [head, power] = value.toExponential(count - 1).split("e");
    return `${Number(head)}·10${raised(Number(power))}`;
  }
  return String(Number(value.toPrecision(count)));
}

/** A whole exponent as small raised digits. */
export function raised(power) {
  const small = { "-": "⁻", ".": "·" };
  return [...String(power)].map((each) => small[each] ?? "⁰¹²³⁴⁵⁶⁷⁸⁹"[Number(each)]).join("");
}

/** An accuracy, from 0 to 1. */
export const share = (value) => (Number.isFinite(value) ? value.toFixed(3) : "–");
