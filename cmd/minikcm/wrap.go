package main

import (
	"strings"
	"unicode"
)

// maxTextWidth is the width beyond which lines of text are hard to read, in columns.
const maxTextWidth = 100

// wrapped fills the lines of a text up to a width in columns. Paragraphs are separated by empty
// lines; indented ones stay as they are.
func wrapped(text string, width int) string {
	paragraphs := strings.Split(text, "\n\n")
	for i, paragraph := range paragraphs {
		if !strings.HasPrefix(paragraph, "    ") {
			paragraphs[i] = filled(paragraph, width)
		}
	}
	return strings.Join(paragraphs, "\n\n")
}

func filled(paragraph string, width int) string {
	var out strings.Builder
	at := 0
	for _, w := range wordsOf(paragraph) {
		space := ""
		if w.spaced && at > 0 {
			space = " "
		}
		switch columns := cellsOf(w.text); {
		case at > 0 && at+len(space)+columns > width:
			out.WriteString("\n" + w.text)
			at = columns
		default:
			out.WriteString(space + w.text)
			at += len(space) + columns
		}
	}
	return out.String()
}

// word is a text that stays on one line: characters between spaces or, of scripts without spaces, one
// character with the punctuation that follows it. spaced is whether a space is before it.
type word struct {
	text   string
	spaced bool
}

func wordsOf(text string) []word {
	var words []word
	for _, field := range strings.Fields(text) {
		spaced, joins := true, false
		for _, r := range field {
			switch {
			case len(words) > 0 && !spaced && (joins && !isWide(r) || isClosing(r)):
				words[len(words)-1].text += string(r)
			default:
				words = append(words, word{string(r), spaced})
			}
			spaced, joins = false, !isWide(r) || strings.ContainsRune("“‘（《", r)
		}
	}
	return words
}

func isClosing(r rune) bool { return strings.ContainsRune("，。、：；！？）》”’…", r) }

// isWide reports whether a character takes two columns of a terminal: Han, and full-width
// punctuation.
func isWide(r rune) bool {
	return unicode.Is(unicode.Han, r) || r >= 0x3000 && r <= 0x303f || r >= 0xff00 && r <= 0xff60
}

func cellsOf(text string) (n int) {
	for _, r := range text {
		if n++; isWide(r) {
			n++
		}
	}
	return n
}
