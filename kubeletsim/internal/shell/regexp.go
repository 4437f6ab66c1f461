package shell

import (
	"context"
	"io"
	"regexp"
	"strings"
	"unicode/utf8"
)

// uninterrupted is the length of a text in which a regular expression is searched in one go, in
// bytes: that takes milliseconds.
const uninterrupted = 32 << 10

// FindSubmatch returns what re.FindStringSubmatch returns, or the error of ctx if that ends first.
func FindSubmatch(ctx context.Context, re *regexp.Regexp, text string) ([]string, error) {
	if len(text) <= uninterrupted {
		return re.FindStringSubmatch(text), ctx.Err()
	}
	bounds, err := find(ctx, re, text)
	if err != nil || bounds == nil {
		return nil, err
	}
	groups := make([]string, len(bounds)/2)
	for i := range groups {
		if bounds[2*i] >= 0 {
			groups[i] = text[bounds[2*i]:bounds[2*i+1]]
		}
	}
	return groups, nil
}

// FindAll calls found with each match in the text that is not empty, as grep -o prints them. It returns the
// error of ctx if ctx ends first: each match may cost a search of the rest of the text.
func FindAll(ctx context.Context, re *regexp.Regexp, text string, found func(match string)) error {
	// The searches after the first one begin a rune before the rest, so that anchors and word
	// boundaries see what is before it.
	rest, err := regexp.Compile(`\A(?s:.)(?s:.*?)(` + re.String() + `)`)
	if err != nil {
		return err // the pattern is too large with this prefix
	}
	bounds, err := find(ctx, re, text)
	for pos, from := 0, 0; err == nil && bounds != nil; {
		start, end := from+bounds[0], from+bounds[1]
		if start < end {
			found(text[start:end])
			pos = end
		} else {
			_, size := utf8.DecodeRuneInString(text[start:])
			pos = start + max(size, 1)
		}
		if pos >= len(text) {
			break
		}
		_, size := utf8.DecodeLastRuneInString(text[:pos])
		from = pos - size
		if bounds, err = find(ctx, rest, text[from:]); bounds != nil {
			bounds = bounds[2:4]
		}
	}
	return err
}

// find returns the bounds of the first match and its groups, nil if there is none.
func find(ctx context.Context, re *regexp.Regexp, text string) ([]int, error) {
	bounds := re.FindReaderSubmatchIndex(&interruptible{done: ctx.Done(), runes: strings.NewReader(text)})
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return bounds, nil
}

// interruptible is a text that ends when done is closed.
type interruptible struct {
	done  <-chan struct{}
	runes *strings.Reader
	read  int
}

func (r *interruptible) ReadRune() (rune, int, error) {
	if r.read++; r.read%1024 == 0 {
		select {
		case <-r.done:
			return 0, 0, io.EOF
		default:
		}
	}
	return r.runes.ReadRune()
}
