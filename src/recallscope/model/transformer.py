"""One attention layer, alone or before a frozen random MLP, as a module for autograd."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from recallscope.common.shapes import Float, Int64
from recallscope.model.activations import activation_of
from recallscope.model.instance import Instance


class Transformer(nn.Module):
    """The model: logits U W_V φ(W_in Σ_i a_i v_i) with attention a = softmax_i(k_i · W_KQ e).

    Keys are k_i = z_{x_i} + 1{i=ℓ} t, values v_i = z_{x_i} (plus the trigger, if the problem
    puts it there). Without an MLP, φ and W_in fall away. Only W_V and W_KQ learn, which are the
    parameters `V` and `W`; both start at 0.

    Args:
        instance: the frozen arrays.

    >>> from recallscope.problem.problem import Problem
    >>> instance = Instance.make(Problem(vocab=64, samples=100, dim=16, length=4), seed=0)
    >>> model = Transformer(instance)
    >>> tokens, position, label = (torch.from_numpy(a) for a in instance.task.draw(0, 100))
    >>> model(tokens, position).shape
    torch.Size([100, 64])
    >>> round(model.loss(tokens, position, label).item(), 3)  # log 64: nothing learnt yet
    4.159
    """

    tokens: Tensor
    outputs: Tensor
    trigger: Tensor
    trigger_value: Tensor
    end: Tensor
    hidden_weights: Tensor | None

    def __init__(self, instance: Instance) -> None:
        super().__init__()
        self.problem = instance.problem
        for name in ("tokens", "outputs", "trigger", "trigger_value", "end", "hidden_weights"):
            self.register_buffer(name, getattr(instance, name), persistent=False)
        dim, hidden = instance.problem.dim, instance.problem.hidden
        self.V = nn.Parameter(instance.tokens.new_zeros(dim, hidden))  # value matrix
        self.W = nn.Parameter(instance.tokens.new_zeros(dim, dim))  # key-query matrix

    def attention(
        self, tokens: Int64[Tensor, "n L"], position: Int64[Tensor, " n"]
    ) -> Float[Tensor, "n L"]:
        """How much each position is attended to from the end of the sequence.

        Args:
            tokens: sequences, one for each row.
            position: which token of each is marked.

        Returns:
            A row for each sample, which sums to 1.
        """
        keys = self.embed(tokens, position, self.trigger)
        return (keys @ (self.W @ self.end)).softmax(dim=1)

    def forward(
        self, tokens: Int64[Tensor, "n L"], position: Int64[Tensor, " n"]
    ) -> Float[Tensor, "n V"]:
        """The logits of every label.

        Args:
            tokens: sequences, one for each row.
            position: which token of each is marked.

        Returns:
            A row for each sample, a column for each label.
        """
        values = self.embed(tokens, position, self.trigger_value)
        read = torch.einsum("ni,nid->nd", self.attention(tokens, position), values)
        if self.hidden_weights is not None:
            read = activation_of(self.problem).value(read @ self.hidden_weights.T)
        return read @ self.V.T @ self.outputs.T

    def embed(
        self, tokens: Int64[Tensor, "n L"], position: Int64[Tensor, " n"], mark: Float[Tensor, " d"]
    ) -> Float[Tensor, "n L d"]:
        """z_{x_i} + 1{i=ℓ} mark at every position.

        Args:
            tokens: sequences, one for each row.
            position: which token of each is marked.
            mark: what the marked position gets.

        Returns:
            A vector for each position.
        """
        marked = functional.one_hot(position, tokens.shape[1]).to(mark.dtype)
        return self.tokens[tokens] + marked[:, :, None] * mark

    def loss(
        self,
        tokens: Int64[Tensor, "n L"],
        position: Int64[Tensor, " n"],
        label: Int64[Tensor, " n"],
    ) -> Float[Tensor, ""]:
        """Mean cross-entropy.

        Args:
            tokens: sequences, one for each row.
            position: which token of each is marked.
            label: the right answers.

        Returns:
            One number, with its gradient.
        """
        return functional.cross_entropy(self(tokens, position), label)
