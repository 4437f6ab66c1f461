package box

import (
	"bytes"
	"context"
	"errors"
	"io"
	"runtime"
	"strings"
	"testing"
	"time"

	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/kubeletsim/internal/applets"
	"minikcm.dev/minikcm/kubeletsim/internal/shell"
)

// maxHeap bounds the heap that a command with a budget of 8 MiB may leave reachable or to be collected.
const maxHeap = 200 << 20

// A command that needs more memory than its container has is killed, and leaves nothing reserved.
func TestOutOfMemory(t *testing.T) {
	for _, script := range []string{
		`a=xxxx; while true; do a=$a$a; done`,
		`a=xxxx; while true; do a+=$a; done`,
		`a=$(yes)`,
		`yes | sort`,
		`yes | tac`,
		`echo {1..1000000000}`,
		`echo {a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}`,
		`for i in {1..9}{1..9}{1..9}{1..9}{1..9}{1..9}{1..9}{1..9}{1..9}; do :; done`,
		`printf '%1000000000d'`,
		`printf '%*s' 1000000000 a`,
		`yes > /f`,
		`cat /dev/zero > /f`,
		`cat /dev/zero | tee /f`,
		`cat /dev/zero | tail`,
		`cat /dev/zero | head -c 100000000 | tail -c 50000000`,
		`cat /dev/zero | grep a`,
		`cat /dev/zero | tr '\0' a | cut -c1`,
		`yes | xargs echo`,
		`i=0; while true; do a[i++]=x; done`,
		`i=0; while true; do eval "a$((i++))=x"; done`,
		`i=0; while true; do mkdir /d$((i++)); done`,
		`a=$(printf '%1000d'); while true; do a=${a// /$a}; done`,
		`read -r a < /dev/zero; echo ${#a}; yes | tr -d '\n' | while read a; do :; done`,
		`set --; while true; do set -- "$@" "$@" a; done`,
		`yes | mapfile a`,
		`f() { f | f; }; f`,
		`while true; do sleep 1000 & done`,
		`a=$(printf '%10000s' | tr ' ' a); printf '%10000s' | tr ' ' b | xargs -I a echo $a`,
		`alias a=b; i=0; while true; do alias a$((i++))=b; done`,
		`i=0; while true; do eval "f$((i++))() { :; }"; done`,
		`echo 'sh /s' > /s; sh /s`,
		`cat <<< "$(yes)"`,
	} {
		m := newMachine(clock.Real(), nil)
		m.Memory = shell.NewBudget(8<<20, nil)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		elapsed := clock.Stopwatch()
		code, err := m.Run(ctx, []string{"sh", "-c", script}, Streams{Out: io.Discard, Err: io.Discard})
		cancel()
		t.Logf("%v %s", elapsed(), script)
		var heap runtime.MemStats
		runtime.ReadMemStats(&heap)
		if code != exitKilled || err != nil || heap.HeapAlloc > maxHeap {
			t.Errorf("%s: ended with %d, %v, on a heap of %d MiB", script, code, err, heap.HeapAlloc>>20)
		}
		if err := m.Files.RemoveAll("/f"); err != nil {
			_ = err // most scripts make none
		}
		if used := m.Memory.Used(); used != 0 && !strings.Contains(script, "/d") && !strings.Contains(script, "/s") {
			t.Errorf("%s: %d bytes stay reserved", script, used)
		}
	}
}

// Main learns that its command was killed for its memory.
func TestMainIsKilled(t *testing.T) {
	m := newMachine(clock.Real(), nil)
	m.Memory = shell.NewBudget(1<<20, nil)
	var got error
	m.Main = &Main{Ended: func(_ int, err error) { got = err }}
	if _, err := m.Run(t.Context(), []string{"sh", "-c", "a=$(yes)"}, Streams{}); err != nil || !errors.Is(got, ErrOutOfMemory) {
		t.Errorf("got %v, %v", got, err)
	}
}

// No text is so deeply nested that the shell that parses it ends the process, wherever the text comes from.
func TestDeepText(t *testing.T) {
	for _, script := range []string{
		`eval "echo \$(($(yes "(" | head -n 400000 | tr -d "\n")"`,
		`a=$(yes "(" | head -n 100000 | tr -d "\n"); eval "$a"; sh -c "$a"; trap "$a" EXIT`,
		`a=$(yes "(" | head -n 100000 | tr -d "\n"); echo "$a" > /f; . /f; sh /f; echo $((a))`,
		`a=$(yes "-" | head -n 100000 | tr -d "\n"); echo $((a))`,
		`a=$(yes '!' | head -n 100000 | tr "\n" " "); [ $a ]`,
		`a=b; b=a; echo $((a))`,
		`f() { f; }; f`,
		`f() { eval f; }; f`,
		`f() { echo $(f); }; f`,
		`a='$(eval "$a")'; eval "$a"`,
		`alias a='a a'; a`,
		`trap 'eval "$x"' ERR; x=false; false`,
		`echo '. /f' > /f; . /f`,
		`a=$(yes '@(' | head -n 50000 | tr -d "\n"); [[ x == $a ]]; case x in $a) ;; esac; echo ${a#$a}`,
		`a=$(yes 'env' | head -n 50000 | tr "\n" " "); $a true`,
		`a=$(yes '{' | head -n 200000 | tr -d "\n"); eval "echo $a"`,
	} {
		m := newMachine(clock.Real(), nil)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		if code, err := m.Run(ctx, []string{"sh", "-c", script}, Streams{Out: io.Discard, Err: io.Discard}); err != nil || code > 255 {
			t.Errorf("%s: ended with %d, %v", script, code, err)
		}
		cancel()
	}
}

// endless are scripts that run until they are ended.
var endless = []string{
	`seq 1 100000000000 | tail -1`,
	`cat /dev/zero | tr '\0' 'x' | tail -c 10`,
	`cat /dev/zero | wc -c`,
	`cat /dev/zero > /dev/null`,
	`yes | uniq -c`,
	`yes | head -n 1000000000 | sha256sum`,
	`while :; do :; done`,
	`for ((;;)); do :; done`,
	`until false; do false; done & wait`,
	`while ((1)); do ((1)); done`,
	`while [[ 1 ]]; do [[ a ]]; done`,
	`yes | while read x; do :; done`,
	`yes > /dev/null & yes > /dev/null & wait`,
	`f() { f | f; }; sleep 1000`,
	`tail -f /dev/null | cat`,
	`sleep 1000 | cat | cat`,
	`(sleep 1000) & wait`,
	`x=$(sleep 1000 &)`,
	`a=$(head -c 1000000 /dev/zero | tr '\0' a); [[ $a == *a*a*a*a*a*a*a*a*b ]]; case $a in *a*a*a*a*a*a*a*b) ;; esac; echo ${a%%a*b}`,
	`head -c 1000000 /dev/zero | tr '\0' x | grep -oE '(x*y)?'`,
	`a=$(head -c 8000000 /dev/zero | tr '\0' x); [[ $a =~ (x*)*y ]]`,
	`timeout 1000 sleep 500; yes | timeout 1000 cat > /dev/null`,
}

// Programs end with their context, whatever they are doing.
func TestProgramsEnd(t *testing.T) {
	for _, script := range endless {
		endsWithContext(t, newMachine(clock.Real(), nil), script)
	}
}

// BenchmarkEnd measures how long endless scripts run on after the end of their context.
func BenchmarkEnd(b *testing.B) {
	var longest time.Duration
	for b.Loop() {
		for _, script := range endless {
			longest = max(longest, runsOn(b.Context(), newMachine(clock.Real(), nil), script))
		}
	}
	b.ReportMetric(float64(longest.Microseconds())/1000, "ms-longest")
}

// Every program ends with its context while it reads endless input or a large file.
func TestEveryProgramEnds(t *testing.T) {
	arguments := map[string]string{
		"grep": "-v '\\(x*\\)*z'", "egrep": "-v '(x*)*z'", "cut": "-c1-", "tr": "y x", "tee": "/copy", "xargs": "echo", "seq": "1 100000000000", "sleep": "1000", "usleep": "1000000000",
		"find": "/ -name 'x*'", "tar": "cf - /big", "cp": "/big /copy", "timeout": "1000 yes", "time": "yes", "env": "yes", "busybox": "yes", "kill": "-l", "date": "-d @1", "head": "-n 1000000000", "tail": "-f",
		"expr": `"$(head -c 20000 /big | tr -d '\n')" : '\(x*\)*z'`, "test": "-n x", "[": "-n x ]", "printf": `'%s\n' x`, "base64": "-w 0", "sort": "-u", "sh": "/dev/stdin",
	}
	for _, name := range applets.Names() {
		command := strings.TrimSpace(name + " " + arguments[name])
		for _, script := range []string{
			"yes xxxxxxxxxxxxxxxxxxxxxxxxxxxxxx | " + command + " > /dev/null",
			command + " < /dev/zero > /dev/null",
			command + " /big > /dev/null",
			"while :; do " + command + " < /big > /dev/null; done",
		} {
			m := newMachine(clock.Real(), nil)
			if code, err := m.Run(t.Context(), []string{"sh", "-c", "yes | head -c 4000000 > /big"}, Streams{}); code != 0 || err != nil {
				t.Fatalf("writing a file: %d, %v", code, err)
			}
			endsWithContext(t, m, script)
		}
	}
}

// endsWithContext checks that a script ends when its context does, and not only with its input.
// The limit is far beyond what a busy machine needs; BenchmarkEnd measures.
func endsWithContext(t *testing.T, m *Machine, script string) {
	t.Helper()
	if took := runsOn(t.Context(), m, script); took > time.Minute {
		t.Errorf("%s: ended after %v", script, took)
	}
}

// runsOn returns how long a script runs after the end of its context.
func runsOn(ctx context.Context, m *Machine, script string) time.Duration {
	ctx, cancel := context.WithCancel(ctx)
	started := make(chan struct{})
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = m.Run(ctx, []string{"sh", "-c", "echo; " + script}, Streams{Out: &firstWrite{started: started}, Err: io.Discard})
	}()
	<-started
	// The machine's own time: the programs compute on it.
	after := clock.Real().NewTimer(20 * time.Millisecond)
	<-after.C()
	elapsed := clock.Stopwatch()
	cancel()
	<-done
	return elapsed()
}

// firstWrite closes started when something is written.
type firstWrite struct {
	started chan struct{}
	closed  bool
}

func (w *firstWrite) Write(p []byte) (int, error) {
	if !w.closed {
		w.closed = true
		close(w.started)
	}
	return len(p), nil
}

// A shell's answers come from its container, never from the host.
func TestHostIsHidden(t *testing.T) {
	for _, tt := range []struct {
		script, out string
		code        int
	}{
		{"PATH=/usr/local/go/bin:/usr/bin; type go", "go: not found\n", 127},
		{"PATH=/usr/local/go/bin; command -v go", "", 127},
		{"command -v ls; type ls", "/bin/ls\nls is /bin/ls\n", 0},
		{"echo ~postgres ~daemon", "~postgres ~daemon\n", 0},
		{"echo ~root ~nobody ~", "/root /nonexistent /root\n", 0},
		{"echo 'app:x:5:5::/srv/app:/bin/sh' >> /etc/passwd; echo ~app ~app/x", "/srv/app /srv/app/x\n", 0},
		{"echo $$ $PPID $UID $EUID $GID", "2 0 0 0 0\n", 0},
		{"echo $RANDOM $RANDOM $SRANDOM; (echo $RANDOM); sh -c 'echo $RANDOM'", "24714 12797 1475097872\n31884\n30814\n", 0},
		{"cat /proc/version", "", 1},
		{"cd /work && echo there", "", 2},
	} {
		m := newMachine(clock.Real(), nil)
		var out bytes.Buffer
		code, err := m.Run(t.Context(), []string{"sh", "-c", tt.script}, Streams{Out: &out})
		if out.String() != tt.out || code != tt.code || err != nil {
			t.Errorf("%s: got %q, %d, %v; want %q, %d", tt.script, out.String(), code, err, tt.out, tt.code)
		}
	}
}

// Random numbers follow from the seed, also in commands that run at the same time.
func TestRandomFollowsFromSeed(t *testing.T) {
	const script = `echo $RANDOM; echo $RANDOM | cat | { read x; echo $x $RANDOM; }; (echo $RANDOM) & wait; sh -c 'echo $RANDOM $$'; echo $! $(echo $RANDOM)`
	seen := map[string]uint64{}
	for _, seed := range []uint64{1, 2, 1, 2} {
		m := newMachine(clock.Real(), nil)
		m.Seed = seed
		out, _, _ := run(t, m, "", "sh", "-c", script)
		if before, again := seen[out]; again && before != seed {
			t.Errorf("seeds %d and %d yield the same numbers", before, seed)
		}
		seen[out] = seed
	}
	if len(seen) != 2 {
		t.Errorf("two seeds yield %d outputs: %v", len(seen), seen)
	}
}
