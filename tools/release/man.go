package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// helpHeading starts the help of a command in docs/cli.md.
const helpHeading = "\n## minikcm"

// writeManPages writes a page for each command from its help in docs/cli.md. A test of the command line keeps that
// file equal to the program's output. at is the date of the pages.
func writeManPages(root, out string, at time.Time) error {
	text, err := os.ReadFile(filepath.Join(root, "docs", "cli.md"))
	if err != nil {
		return err
	}
	helps, order, err := splitHelp(string(text))
	if err != nil {
		return err
	}
	summaries := summariesOf(helps)
	for _, command := range order {
		name := strings.ReplaceAll(command, " ", "-") + ".1"
		page := manPage(command, summaries[command], helps[command], related(command, order), at)
		if err := writeFile(filepath.Join(out, "man", "man1", name), []byte(page)); err != nil {
			return err
		}
	}
	return nil
}

// splitHelp returns the help of each command, and the order of the commands.
func splitHelp(text string) (helps map[string]string, order []string, err error) {
	helps = map[string]string{}
	for i, section := range strings.Split(text, helpHeading) {
		if i == 0 {
			continue // the introduction
		}
		name, rest, _ := strings.Cut(section, "\n")
		_, help, opened := strings.Cut(rest, "```text\n")
		help, _, closed := strings.Cut(help, "```")
		if !opened || !closed {
			return nil, nil, fmt.Errorf("docs/cli.md has no help of minikcm%s", name)
		}
		helps["minikcm"+name] = help
		order = append(order, "minikcm"+name)
	}
	if len(order) == 0 {
		return nil, nil, errors.New("docs/cli.md has no help of commands")
	}
	return helps, order, nil
}

// summariesOf returns the lines about each command in the help of its parent.
func summariesOf(helps map[string]string) map[string]string {
	summaries := map[string]string{"minikcm": "a whole Kubernetes control loop in one process"}
	for command, help := range helps {
		_, list, _ := strings.Cut(help, "\nAvailable Commands:\n")
		list, _, _ = strings.Cut(list, "\n\n")
		for line := range strings.Lines(list) {
			if name, summary, found := strings.Cut(strings.TrimSpace(line), " "); found {
				summaries[command+" "+name] = strings.TrimSpace(summary)
			}
		}
	}
	return summaries
}

// related returns the commands above and below a command.
func related(command string, all []string) []string {
	var found []string
	for _, other := range all {
		if other == parentOf(command) || parentOf(other) == command {
			found = append(found, other)
		}
	}
	return found
}

// parentOf returns the command without its last word; "" for the root.
func parentOf(command string) string {
	return command[:max(strings.LastIndexByte(command, ' '), 0)]
}

// manPage returns the man page of a command, in the macros of man(7). The paragraphs before
// "Usage:" describe it; each line at the margin that ends with a colon is a heading, and the text
// below it keeps its lines.
func manPage(command, summary, help string, seeAlso []string, at time.Time) string {
	title := strings.ReplaceAll(command, " ", "-")
	if summary != "" {
		summary = strings.ToLower(summary[:1]) + summary[1:]
	}
	description, rest, _ := strings.Cut(help, "\nUsage:\n")
	synopsis, rest, _ := strings.Cut(rest, "\n\n")
	var b strings.Builder
	fmt.Fprintf(&b, ".TH %q 1 %q minikcm minikcm\n.SH NAME\n%s \\- %s\n.SH SYNOPSIS\n.nf\n",
		strings.ToUpper(title), at.UTC().Format(time.DateOnly), roff(title), roff(summary))
	for line := range strings.SplitSeq(synopsis, "\n") {
		fmt.Fprintf(&b, "%s\n", roff(strings.TrimPrefix(line, "  ")))
	}
	b.WriteString(".fi\n.SH DESCRIPTION\n")
	for paragraph := range strings.SplitSeq(strings.TrimSpace(description), "\n\n") {
		if strings.HasPrefix(paragraph, " ") {
			fmt.Fprintf(&b, ".PP\n.nf\n%s\n.fi\n", roff(paragraph))
			continue
		}
		fmt.Fprintf(&b, ".PP\n%s\n", roff(paragraph))
	}
	b.WriteString(".nf\n") // the first heading ends it
	for line := range strings.Lines(rest) {
		line = strings.TrimSuffix(line, "\n")
		switch heading, isHeading := strings.CutSuffix(line, ":"); {
		case isHeading && !strings.HasPrefix(line, " "):
			fmt.Fprintf(&b, ".fi\n.SH %s\n.nf\n", strings.ToUpper(roff(heading)))
		case line == "" || strings.HasPrefix(line, "Use \"minikcm"):
		default:
			fmt.Fprintf(&b, "%s\n", roff(strings.TrimPrefix(line, "  ")))
		}
	}
	b.WriteString(".fi\n")
	if len(seeAlso) > 0 {
		for i, other := range seeAlso {
			seeAlso[i] = roff(strings.ReplaceAll(other, " ", "-")) + "(1)"
		}
		fmt.Fprintf(&b, ".SH SEE ALSO\n%s\n", strings.Join(seeAlso, ",\n"))
	}
	return b.String()
}

// roff escapes the characters with a meaning of their own in a man page: backslashes, hyphens that are part of
// flags, and dots and quotes at the start of a line.
func roff(text string) string {
	lines := strings.Split(strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(text), "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'") {
			lines[i] = `\&` + line
		}
	}
	return strings.Join(lines, "\n")
}
