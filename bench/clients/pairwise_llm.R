# pairwiseLLM, the R package: pairs of texts judged live and through its own batches, with a winner that is known.
suppressPackageStartupMessages(library(pairwiseLLM))

# What `overnight emulator --env r` prints.
source("env.R")
source(file.path(dirname(sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE))), "manual.R"))

# The package has its addresses in functions of its own: those are what is pointed elsewhere.
point <- function(name, value) assignInNamespace(name, function() value, "pairwiseLLM")
point(".openai_base_url", Sys.getenv("OPENAI_BASE_URL"))
point(".gemini_base_url", Sys.getenv("GOOGLE_GEMINI_BASE_URL"))
point(".together_base_url", Sys.getenv("TOGETHER_BASE_URL"))
assignInNamespace(".anthropic_request", function(path, api_key = NULL, anthropic_version = "2023-06-01") {
  httr2::request(Sys.getenv("ANTHROPIC_BASE_URL")) |>
    httr2::req_url_path_append(sub("^/", "", path)) |>
    httr2::req_headers(`x-api-key` = Sys.getenv("ANTHROPIC_API_KEY"), `anthropic-version` = anthropic_version)
}, "pairwiseLLM")
options(pairwiseLLM.ollama_host = Sys.getenv("OLLAMA_HOST"))

# The same texts stand in pairwise_llm.yaml, the later the better.
texts <- sprintf("The %s essay tells of a lake.", c("first", "second", "third", "fourth", "fifth", "sixth", "seventh"))
samples <- tibble::tibble(ID = sprintf("S%d", seq_along(texts)), text = texts)
pairs <- randomize_pair_order(make_pairs(samples), seed = 1)
both <- rbind(pairs, sample_reverse_pairs(pairs, reverse_pct = 1, seed = 1))

must <- function(fact, what) if (!isTRUE(fact)) stop(what)

judged <- function(found, wanted) {
  right <- found$better_id == ifelse(found$ID1 > found$ID2, found$ID1, found$ID2)
  must(nrow(found) == nrow(wanted) && all(right %in% TRUE), paste(sum(right %in% TRUE), "of", nrow(wanted), "right"))
  paste(nrow(found), "of", nrow(wanted), "pairs right")
}

trait <- trait_description("overall_quality")

live <- function(backend, model, pairs = both, ...) function() {
  found <- submit_llm_pairs(
    pairs, model, trait$name, trait$description,
    backend = backend, verbose = FALSE, progress = FALSE, ...
  )
  judged(if (is.data.frame(found)) found else found$results, pairs)
}

batches <- function(backend, model, ...) function() {
  folder <- tempfile("batches")
  llm_submit_pairs_multi_batch(
    both, model, trait$name, trait$description,
    backend = backend, batch_size = 15, output_dir = folder, write_registry = TRUE, ...
  )
  # Taken up from the folder alone, as after a crash.
  found <- llm_resume_multi_batches(output_dir = folder, interval_seconds = 1, per_job_delay = 0)
  paste(judged(found$combined, both), "in", ceiling(nrow(both) / 15), "batches")
}

deeds <- list(
  openai_live = live("openai", "gpt-4.1"),
  openai_responses = live("openai", "gpt-5.1", endpoint = "responses"),
  anthropic_live = live("anthropic", "claude-sonnet-4-5"),
  gemini_live = live("gemini", "gemini-3-pro-preview"),
  together_live = live("together", "meta-llama/Llama-3.3-70B-Instruct-Turbo"),
  ollama_live = live("ollama", "llama3.2"),
  openai_batches = batches("openai", "gpt-4.1"),
  anthropic_batches = batches("anthropic", "claude-sonnet-4-5"),
  gemini_batches = batches("gemini", "gemini-3-pro-preview"),
  manual = function() manual("pairwiseLLM")
)

version <- packageVersion("pairwiseLLM")
failed <- FALSE
for (name in names(deeds)) {
  seen <- tryCatch(paste("ok pairwiseLLM", version, paste0(name, ":"), deeds[[name]]()), error = function(error) {
    failed <<- TRUE
    paste("wrong pairwiseLLM", version, paste0(name, ":"), substr(gsub("\n", " ", conditionMessage(error)), 1, 300))
  })
  cat(seen, "\n", sep = "")
}
quit(status = if (failed) 1 else 0)
