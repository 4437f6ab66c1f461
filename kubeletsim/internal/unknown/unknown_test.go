package unknown

import (
	"strings"
	"testing"
)

func TestWriter(t *testing.T) {
	for in, want := range map[string]string{
		"":                             "",
		"a\nb":                         "a\nb",
		"?\n":                          "",
		"?":                            "",
		"a\n?\nb\n":                    "a\nb\n",
		"a ?\n":                        "a <unknown>\n",
		"?b\n":                         "<unknown>b\n",
		"??\n":                         "<unknown><unknown>\n",
		"\xf4\n":                       "\xf4\n",
		"\xf4\x8f":                     "\xf4\x8f",
		"\xf4?\n":                      "\xf4<unknown>\n",
		"a\n?\n?\nx=?, y=?\n?\nb\n":    "a\nx=<unknown>, y=<unknown>\nb\n",
		strings.Repeat("x", 100) + "?": strings.Repeat("x", 100) + "<unknown>",
	} {
		in = strings.ReplaceAll(in, "?", Text)
		for size := 1; size <= len(in)+1; size++ {
			var out strings.Builder
			w := NewWriter(&out)
			for rest := in; rest != ""; {
				n := min(size, len(rest))
				if got, err := w.Write([]byte(rest[:n])); got != n || err != nil {
					t.Fatalf("%q: %d, %v", rest[:n], got, err)
				}
				rest = rest[n:]
			}
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			if out.String() != want {
				t.Errorf("%q in pieces of %d: %q, want %q", in, size, out.String(), want)
			}
		}
	}
}

func TestExit(t *testing.T) {
	for status, want := range map[int]int{0: 0, 3: 3, Succeeded: 0, Status | 1: 0} {
		if got := Exit(status); got != want {
			t.Errorf("%#x: %d, want %d", status, got, want)
		}
	}
}

func FuzzWriter(f *testing.F) {
	f.Add("a\n"+Text+"\nb"+Text, 2)
	f.Fuzz(func(t *testing.T, in string, size int) {
		size = max(size&0xff, 1)
		whole, parts := &strings.Builder{}, &strings.Builder{}
		w, v := NewWriter(whole), NewWriter(parts)
		_, _ = w.Write([]byte(in))
		_ = w.Close()
		for rest := in; rest != ""; {
			n := min(size, len(rest))
			_, _ = v.Write([]byte(rest[:n]))
			rest = rest[n:]
		}
		_ = v.Close()
		if whole.String() != parts.String() {
			t.Errorf("%q in pieces of %d: %q, at once %q", in, size, parts, whole)
		}
		if In(whole.String()) {
			t.Errorf("%q shows the mark: %q", in, whole)
		}
	})
}
