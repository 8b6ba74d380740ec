# R with httr2: what a batch client in R does (upload, create, poll, download), live calls, a tool, and streams.
suppressPackageStartupMessages({
  library(httr2)
  library(jsonlite)
})

# What `overnight emulator --env r` prints.
source("env.R")
source(file.path(dirname(sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE))), "manual.R"))

question <- "Tell me of a lake."
parameters <- list(
  type = "object", properties = list(country = list(type = "string")), required = I("country")
)

openai <- function(path) {
  request(Sys.getenv("OPENAI_BASE_URL")) |>
    req_url_path_append(path) |>
    req_auth_bearer_token(Sys.getenv("OPENAI_API_KEY")) |>
    req_retry(max_tries = 3)
}

anthropic <- function(path) {
  request(Sys.getenv("ANTHROPIC_BASE_URL")) |>
    req_url_path_append("v1", path) |>
    req_headers("x-api-key" = Sys.getenv("ANTHROPIC_API_KEY"), "anthropic-version" = "2023-06-01")
}

asked <- function(text) list(list(role = "user", content = text))

perform <- function(req) resp_body_json(req_perform(req))

# Newer versions have it under a longer name.
streamed <- if (exists("req_perform_stream")) req_perform_stream else req_stream

must <- function(fact, what) if (!isTRUE(fact)) stop(what)

polled <- function(get, ended) {
  for (try in seq_len(300)) {
    found <- get()
    if (ended(found)) {
      return(found)
    }
    Sys.sleep(0.1)
  }
  stop("it never ended")
}

deeds <- list(
  manual = function() manual("httr2"),
  openai_live = function() {
    said <- openai("chat/completions") |>
      req_body_json(list(model = "gpt-4.1", messages = asked(question))) |>
      perform()
    must(grepl("lake", said$choices[[1]]$message$content), "no lake")
    paste(said$usage$total_tokens, "tokens")
  },
  openai_streamed = function() {
    # Pieces come as bytes, cut anywhere: what is after the last end of a line belongs to the next piece.
    text <- rest <- ""
    pieces <- 0
    take <- function(bytes) {
      lines <- strsplit(paste0(rest, rawToChar(bytes), "."), "\n", fixed = TRUE)[[1]]
      rest <<- sub("[.]$", "", lines[length(lines)])
      for (line in grep("^data: [{]", lines[-length(lines)], value = TRUE)) {
        chunk <- fromJSON(substring(line, 7), simplifyVector = FALSE)
        if (length(chunk$choices)) text <<- paste0(text, chunk$choices[[1]]$delta$content)
        pieces <<- pieces + 1
      }
      TRUE
    }
    openai("chat/completions") |>
      req_body_json(list(model = "gpt-4.1", messages = asked(question), stream = TRUE)) |>
      streamed(take, buffer_kb = 0.25)
    must(grepl("lake", text), text)
    paste(pieces, "pieces")
  },
  openai_tool = function() {
    tool <- list(type = "function", `function` = list(name = "find_city", parameters = parameters))
    body <- list(model = "gpt-4.1", messages = asked("Hello."), tools = list(tool), tool_choice = "required")
    said <- openai("chat/completions") |> req_body_json(body) |> perform()
    call <- said$choices[[1]]$message$tool_calls[[1]]$`function`
    must("country" %in% names(fromJSON(call$arguments)), call$arguments)
    call$name
  },
  openai_batch = function() {
    lines <- vapply(seq_len(30), function(n) {
      body <- list(model = "gpt-4.1", messages = asked(paste0("Row ", n, "?")))
      line <- list(custom_id = paste0("r", n), method = "POST", url = "/v1/chat/completions", body = body)
      as.character(toJSON(line, auto_unbox = TRUE))
    }, "")
    path <- tempfile(fileext = ".jsonl")
    writeLines(lines, path)
    file <- openai("files") |>
      req_body_multipart(purpose = "batch", file = curl::form_file(path)) |>
      perform()
    body <- list(input_file_id = file$id, endpoint = "/v1/chat/completions", completion_window = "24h")
    batch <- openai("batches") |> req_body_json(body) |> perform()
    batch <- polled(
      function() openai(paste0("batches/", batch$id)) |> perform(),
      function(found) found$status %in% c("completed", "failed")
    )
    content <- openai(paste0("files/", batch$output_file_id, "/content")) |> req_perform() |> resp_body_string()
    rows <- lapply(strsplit(trimws(content), "\n", fixed = TRUE)[[1]], fromJSON, simplifyVector = FALSE)
    right <- vapply(rows, function(row) {
      text <- row$response$body$choices[[1]]$message$content
      grepl(paste0("Row ", substring(row$custom_id, 2), "\""), text, fixed = TRUE)
    }, TRUE)
    must(length(rows) == 30 && all(right), paste(sum(right), "of 30 right"))
    "30 of 30 rows right"
  },
  anthropic_live = function() {
    body <- list(model = "claude-haiku-4-5", max_tokens = 300, messages = asked(question))
    said <- anthropic("messages") |> req_body_json(body) |> perform()
    must(grepl("lake", said$content[[1]]$text), "no lake")
    paste(said$usage$output_tokens, "tokens")
  },
  anthropic_batch = function() {
    requests <- lapply(seq_len(20), function(n) {
      params <- list(model = "claude-haiku-4-5", max_tokens = 300, messages = asked(paste0("Row ", n, "?")))
      list(custom_id = paste0("r", n), params = params)
    })
    batch <- anthropic("messages/batches") |> req_body_json(list(requests = requests)) |> perform()
    batch <- polled(
      function() anthropic(paste0("messages/batches/", batch$id)) |> perform(),
      function(found) found$processing_status == "ended"
    )
    content <- request(batch$results_url) |>
      req_headers("x-api-key" = Sys.getenv("ANTHROPIC_API_KEY"), "anthropic-version" = "2023-06-01") |>
      req_perform() |>
      resp_body_string()
    rows <- lapply(strsplit(trimws(content), "\n", fixed = TRUE)[[1]], fromJSON, simplifyVector = FALSE)
    right <- vapply(rows, function(row) {
      text <- row$result$message$content[[1]]$text
      grepl(paste0("Row ", substring(row$custom_id, 2), "\""), text, fixed = TRUE)
    }, TRUE)
    must(length(rows) == 20 && all(right), paste(sum(right), "of 20 right"))
    "20 of 20 rows right"
  },
  gemini_live = function() {
    said <- request(Sys.getenv("GOOGLE_GEMINI_BASE_URL")) |>
      req_url_path_append("v1beta/models/gemini-2.5-flash:generateContent") |>
      req_headers("x-goog-api-key" = Sys.getenv("GEMINI_API_KEY")) |>
      req_body_json(list(contents = list(list(role = "user", parts = list(list(text = question)))))) |>
      perform()
    must(grepl("lake", said$candidates[[1]]$content$parts[[1]]$text), "no lake")
    paste(said$usageMetadata$totalTokenCount, "tokens")
  }
)

failed <- FALSE
for (name in names(deeds)) {
  seen <- tryCatch(paste("ok httr2", packageVersion("httr2"), paste0(name, ":"), deeds[[name]]()), error = function(error) {
    failed <<- TRUE
    word <- gsub("\n", " ", conditionMessage(error))
    paste("wrong httr2", packageVersion("httr2"), paste0(name, ":"), substr(word, 1, 300))
  })
  cat(seen, "\n", sep = "")
}
quit(status = if (failed) 1 else 0)
