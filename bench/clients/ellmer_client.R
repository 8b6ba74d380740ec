# ellmer: live calls, streams, tools and structured answers of three providers, and its batches.
suppressPackageStartupMessages(library(ellmer))

# What `overnight emulator --env r` prints.
source("env.R")
source(file.path(dirname(sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE))), "manual.R"))

chats <- list(
  openai = function() chat_openai(model = "gpt-4.1", base_url = Sys.getenv("OPENAI_BASE_URL"), echo = "none"),
  anthropic = function() {
    address <- paste0(Sys.getenv("ANTHROPIC_BASE_URL"), "/v1")
    chat_anthropic(model = "claude-sonnet-4-5", base_url = address, echo = "none")
  },
  gemini = function() {
    address <- paste0(Sys.getenv("GOOGLE_GEMINI_BASE_URL"), "/v1beta/")
    chat_google_gemini(model = "gemini-2.5-flash", base_url = address, echo = "none")
  },
  ollama = function() chat_ollama(model = "llama3.2", base_url = Sys.getenv("OLLAMA_HOST"), echo = "none")
)

must <- function(fact, what) if (!isTRUE(fact)) stop(what)

live <- function(begin) function() {
  said <- begin()$chat("Tell me of a lake.")
  must(grepl("lake", said), paste("no lake:", said))
  paste(nchar(said), "characters")
}

streamed <- function(begin) function() {
  pieces <- character()
  stream <- begin()$stream("Tell me of a lake.")
  coro::loop(for (piece in stream) pieces <- c(pieces, piece))
  must(length(pieces) > 1 && grepl("lake", paste(pieces, collapse = "")), paste("pieces:", length(pieces)))
  paste(length(pieces), "pieces")
}

structured <- function(begin) function() {
  found <- begin()$chat_structured("Name a lake.", type = type_object(name = type_string(), depth = type_integer()))
  must(is.character(found$name) && is.numeric(found$depth), "not of the wanted form")
  "of the wanted form"
}

# The emulator is told by pairs of words in ellmer.yaml when a tool is called.
tooled <- function(begin) function() {
  asked <- NULL
  one <- begin()
  lookup <- function(city) {
    asked <<- city
    "mild"
  }
  one$register_tool(tool(lookup, name = "get_weather", description = "The weather.", arguments = list(city = type_string())))
  one$chat("What is the weather in Paris?")
  must(identical(asked, "Paris"), "the tool was not called")
  "called with its argument"
}

batched <- function(begin) function() {
  prompts <- as.list(sprintf("Row %d?", 1:20))
  found <- batch_chat(begin(), prompts, path = tempfile(fileext = ".json"))
  right <- vapply(seq_along(found), function(n) {
    !is.null(found[[n]]) && grepl(sprintf('Row %d"', n), found[[n]]$last_turn()@text, fixed = TRUE)
  }, TRUE)
  must(length(found) == 20 && all(right), paste(sum(right), "of 20 right"))
  "20 of 20 rows right"
}

deeds <- c(
  lapply(setNames(chats, paste0(names(chats), "_live")), live),
  lapply(setNames(chats, paste0(names(chats), "_streamed")), streamed),
  lapply(setNames(chats, paste0(names(chats), "_structured")), structured),
  lapply(setNames(chats, paste0(names(chats), "_tool")), tooled),
  lapply(list(openai_batch = chats$openai, anthropic_batch = chats$anthropic), batched),
  list(manual = function() manual("ellmer"))
)

version <- packageVersion("ellmer")
failed <- FALSE
for (name in names(deeds)) {
  seen <- tryCatch(paste("ok ellmer", version, paste0(name, ":"), deeds[[name]]()), error = function(error) {
    failed <<- TRUE
    paste("wrong ellmer", version, paste0(name, ":"), substr(gsub("\n", " ", conditionMessage(error)), 1, 300))
  })
  cat(seen, "\n", sep = "")
}
quit(status = if (failed) 1 else 0)
