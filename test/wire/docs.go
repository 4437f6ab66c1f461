package main

import (
	"bytes"
	"fmt"
	"os"
	"strings"
)

// The document has the figures of the last whole run, and the known differences.
const (
	docsFigures = "<!-- figures -->\n"
	docsKnown   = "<!-- known -->\n"
	docsEnd     = "<!-- end -->\n"
)

// updateDocs replaces what is generated in a document.
func updateDocs(path string, r *report) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	var figures bytes.Buffer
	r.summarize(&figures, false)
	text, err := replacePart(string(data), docsFigures, figures.String())
	if err == nil {
		text, err = replacePart(text, docsKnown, knownTable(r.known))
	}
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return os.WriteFile(path, []byte(text), 0o644)
}

// replacePart replaces the lines between a mark and the next end.
func replacePart(text, mark, part string) (string, error) {
	before, rest, ok := strings.Cut(text, mark)
	_, after, ended := strings.Cut(rest, docsEnd)
	if !ok || !ended {
		return "", fmt.Errorf("it has no part %q", strings.TrimSpace(mark))
	}
	return before + mark + "\n" + part + "\n" + docsEnd + after, nil
}

// knownTable is the table of known differences.
func knownTable(list []*known) string {
	var out strings.Builder
	out.WriteString("| requests | fields | reason |\n| --- | --- | --- |\n")
	for _, k := range list {
		fmt.Fprintf(&out, "| %s | %s | %s |\n", pattern(k.Requests), pattern(k.Fields), strings.ReplaceAll(k.Reason, "|", `\|`))
	}
	return out.String()
}

// pattern shows a regular expression in a table.
func pattern(expression string) string {
	return "`" + strings.ReplaceAll(expression, "|", `\|`) + "`"
}
