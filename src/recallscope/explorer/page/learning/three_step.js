// Three gradient steps on one batch, in the limit regime: value memory, attention, value memory.
//
// An example has arrays: tokens z (V×d), outputs u (V×d), the trigger t (d), and samples, each with
// its tokens, the marked place and the label. The trigger is added to keys, not to values.

const dot = (a, b) => a.reduce((sum, x, i) => sum + x * b[i], 0);
const zeros = (n) => new Array(n).fill(0);
const matrix = (rows, columns) => Array.from({ length: rows }, () => zeros(columns));

function addScaled(into, vector, scale) {
  for (let i = 0; i < into.length; i++) into[i] += scale * vector[i];
}

/** Σ outputs ⊗ reads / N: each label stored under what was read. */
function store(samples, outputs, read) {
  const dim = outputs[0].length;
  const memory = matrix(dim, dim);
  for (const sample of samples) {
    const value = read(sample);
    memory.forEach((row, i) => addScaled(row, value, outputs[sample.label][i] / samples.length));
  }
  return memory;
}

/** What is left of each label once a uniform guess is subtracted: q = u − mean(u). */
export function centred(outputs) {
  const mean = outputs[0].map((_, i) => outputs.reduce((sum, u) => sum + u[i], 0) / outputs.length);
  return outputs.map((u) => u.map((x, i) => x - mean[i]));
}

/** The mean of the values of a sequence: what uniform attention reads. */
function uniformRead(example, sample) {
  const read = zeros(example.trigger.length);
  for (const token of sample.tokens) {
    addScaled(read, example.tokens[token], 1 / sample.tokens.length);
  }
  return read;
}

/** All three steps: the two memories and the attention vector α. */
export function learn(example) {
  const outputs = centred(example.outputs);
  const V1 = store(example.samples, outputs, (sample) => uniformRead(example, sample));
  const alpha = attentionVector(example, outputs, V1);
  const V2 = store(example.samples, outputs, (sample) => {
    return example.tokens[sample.tokens[attended(example, alpha, sample)]];
  });
  return { V1, alpha, V2 };
}

/** α = (1/NL) Σ_n Σ_i <v_i − h, b> k_i, b being the label sent back through the first memory. */
function attentionVector(example, outputs, V1) {
  const alpha = zeros(example.trigger.length);
  const { samples } = example;
  for (const sample of samples) {
    const back = zeros(alpha.length);
    V1.forEach((row, i) => addScaled(back, row, outputs[sample.label][i]));
    const products = sample.tokens.map((token) => dot(example.tokens[token], back));
    const mean = products.reduce((sum, x) => sum + x, 0) / products.length;
    products.forEach((product, i) => {
      const weight = (product - mean) / (products.length * samples.length);
      addScaled(alpha, example.tokens[sample.tokens[i]], weight);
      if (i === sample.position) addScaled(alpha, example.trigger, weight);
    });
  }
  return alpha;
}

/** The attention score of every position: of its token, and of the trigger where it is. */
export function attentionScores(example, alpha, sample) {
  const bonus = dot(example.trigger, alpha);
  return sample.tokens.map(
    (token, i) => dot(example.tokens[token], alpha) + (i === sample.position ? bonus : 0),
  );
}

/** The position of the highest score, the first of equals: all that attention reads. */
export function attended(example, alpha, sample) {
  const scores = attentionScores(example, alpha, sample);
  return scores.indexOf(Math.max(...scores));
}

/** The scores of all labels when a memory is asked for a token. */
export function labelScores(example, memory, token) {
  const hidden = memory.map((row) => dot(row, example.tokens[token]));
  return centred(example.outputs).map((u) => dot(u, hidden));
}

/** Attention, recall and first-gradient accuracy on the tests of an example. */
export function evaluate(example, learned) {
  const answer = example.tokens.map((_, token) =>
    [learned.V1, learned.V2].map((memory) => {
      const scores = labelScores(example, memory, token);
      return scores.indexOf(Math.max(...scores));
    }),
  );
  const hits = { attention_accuracy: 0, recall_accuracy: 0, first_gradient_accuracy: 0 };
  for (const sample of example.tests) {
    const place = attended(example, learned.alpha, sample);
    hits.attention_accuracy += place === sample.position;
    hits.recall_accuracy += answer[sample.tokens[place]][1] === sample.label;
    hits.first_gradient_accuracy += answer[sample.tokens[sample.position]][0] === sample.label;
  }
  for (const name in hits) hits[name] /= example.tests.length;
  return hits;
}
