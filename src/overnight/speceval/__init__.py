"""Specifications in programs, by the names that users of SpecEval know; all of it stands on the same engine."""

from overnight.speceval.models import (
    AnthropicBatchedModel,
    BatchedModel,
    GoogleBatchedModel,
    OpenAIBatchedModel,
    TogetherBatchedModel,
)
from overnight.speceval.pipelines import (
    BatchedCompliancePipeline,
    BatchedGenerationPipeline,
    BatchedRankingPipeline,
)

__all__ = [
    "AnthropicBatchedModel",
    "BatchedCompliancePipeline",
    "BatchedGenerationPipeline",
    "BatchedModel",
    "BatchedRankingPipeline",
    "GoogleBatchedModel",
    "OpenAIBatchedModel",
    "TogetherBatchedModel",
]
