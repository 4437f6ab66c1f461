package main

import (
	"bytes"
	"errors"
	"strings"
	"testing"
)

// At a terminal, b goes back, a stray word is answered, and Ctrl-D ends the tour. Otherwise each line
// is an Enter, and the tour goes on at the end.
func TestPresenter(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		answers []string
		person  bool
		want    []string
		ended   bool
	}{
		"back and on": {[]string{"", "b", "", ""}, true, []string{"step 1 of 2", "step 2 of 2", "step 1 of 2 (once more", "step 2 of 2"}, false},
		"first step":  {[]string{"b", "", ""}, true, []string{"step 1 of 2", "This is the first step.", "step 2 of 2"}, false},
		"stray word":  {[]string{"what", "", ""}, true, []string{"step 1 of 2", "Enter goes on", "step 2 of 2"}, false},
		"Ctrl-D":      {[]string{""}, true, []string{"step 1 of 2", "step 2 of 2"}, true},
		"q":           {[]string{"q"}, true, []string{"step 1 of 2"}, true},
		"no terminal": {[]string{"what"}, false, []string{"step 1 of 2", "step 2 of 2"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var out bytes.Buffer
			p := &presenter{progress: newProgress(&out, true, ""), words: tourWordsIn["en"], lines: linesOf(strings.NewReader(strings.Join(test.answers, "\n") + "\n")), prompt: test.person, total: 2}
			err := p.present(t.Context(), "first")
			if err == nil {
				err = p.present(t.Context(), "second")
			}
			if ended := errors.Is(err, errTourEnded); ended != test.ended {
				t.Errorf("it ends with %v", err)
			}
			rest := out.String()
			for _, want := range test.want {
				_, after, found := strings.Cut(rest, want)
				if !found {
					t.Fatalf("there is no %q in order in\n%s", want, out.String())
				}
				rest = after
			}
		})
	}
}
