package box

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"time"

	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/kubeletsim/internal/shell"
)

// maxFuzzed bounds scripts: longer ones only take longer.
const maxFuzzed = 120

// No script and no arguments crash the process, or keep a command from ending with its
// context.
func FuzzCommands(f *testing.F) {
	for _, script := range []string{
		"echo a | cat", "ls -la / | sort -k 2", "while read x; do echo $x; done", "f() { echo $1; }; f a", "cut -d: -f1,2- /etc/passwd",
		"tr a-z A-Z", "head -c 3", "tail -n +2", "grep -c x", "find / -name 'a*'", "tar cf - /etc | tar tvf -", "test -N /etc/passwd", "[ -O / ]",
		"printf '%s %d\\n' a 1", "date +%F-%q", "xargs -n 1 echo", "seq 1 2 9", "stat -c %n,%s /etc", "cat <<E\nx\nE", "chmod u+x,g-w /etc/passwd",
		"env A=1 printenv A", "kill -9 1", "ln -s /a /a; cat /a", "base64 -d", "find . -delete", "mv / /x", "cp -r / /tmp/x", "case a in a) ;; esac",
	} {
		f.Add(script, "one\ntwo\n")
	}
	for _, script := range []string{
		"eval \"$(yes '(' | head -n 9999)\"", "a=xx; while :; do a=$a$a; done", "echo {1..99999999}", "${a//x/$a}", "[[ a == +(a|b)* ]]", "((a=b=c?1:2))",
		"a=(1 2); a[1]+=x; echo ${a[@]:1} ${!a}", "f() { f | f; }; f", "trap 'echo a' EXIT ERR; false", "x=$(yes) &", "read -r a b <<< 'x y'", "yes | sort",
	} {
		f.Add(script, "a b\n")
	}
	f.Fuzz(func(t *testing.T, script, stdin string) {
		if len(script) > maxFuzzed || len(stdin) > maxFuzzed {
			t.Skip()
		}
		m := newMachine(clock.Real(), nil)
		m.Memory = shell.NewBudget(4<<20, nil)
		for _, argv := range [][]string{{"sh", "-c", script}, strings.Fields(script)} {
			// Loops without end are ended.
			ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
			out := &boundedBuffer{}
			code, err := m.Run(ctx, argv, Streams{In: strings.NewReader(stdin), Out: out, Err: out})
			if err != nil && strings.Contains(err.Error(), "panicked") || code < 0 || code > 255 {
				t.Errorf("%q ended with %d: %v", argv, code, err)
			}
			cancel()
		}
	})
}

// What is typed on a terminal never breaks its lines.
func FuzzTerminal(f *testing.F) {
	f.Add([]byte("ab\x7f\x7f\x7fc\r\x1b[A\x15\x17x\x04"))
	f.Fuzz(func(t *testing.T, keys []byte) {
		in := newInput(&attention{})
		var shown bytes.Buffer
		term := &terminal{input: in, echo: &shown, interrupt: func() {}}
		if len(keys) < inputLimit/2 {
			if _, err := term.Write(keys); err != nil {
				t.Fatal(err)
			}
		}
		if bytes.IndexByte(in.unread, keyEscape) >= 0 || bytes.IndexByte(in.unread, keyErase) >= 0 {
			t.Errorf("%q became %q", keys, in.unread)
		}
	})
}

// boundedBuffer takes so much, and then no more.
type boundedBuffer struct{ n int }

func (b *boundedBuffer) Write(p []byte) (int, error) {
	if b.n += len(p); b.n > 1<<20 {
		return 0, errNoWriter
	}
	return len(p), nil
}
