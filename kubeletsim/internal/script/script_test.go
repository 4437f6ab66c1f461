package script

import (
	"strings"
	"testing"
	"time"

	"minikcm.dev/minikcm/internal/span"
)

func TestInterpret(t *testing.T) {
	tests := []struct {
		command string // words separated by |
		code    int32
		runs    time.Duration
		ok      bool
	}{
		{"", 0, 0, false},
		{"sleep|5", 0, 5 * time.Second, true},
		{"sleep|1m|2.5s", 0, 62500 * time.Millisecond, true},
		{"/bin/sleep|infinity", 0, span.Forever, true},
		{"sleep|1e300", 0, span.Forever, true},
		{"sleep|-1", 0, 0, false},
		{"sleep|x", 0, 0, false},
		{"sleep", 0, 0, false},
		{"true", 0, 0, true},
		{"/usr/bin/false", 1, 0, true},
		{"exit|1", 0, 0, false}, // no program, only a shell's word
		{"nginx|-g|daemon off;", 0, 0, false},
		{"sh|-c|exit 1", 1, 0, true},
		{"sh|-c|exit 300", 0, 0, false},
		{"/bin/sh|-ec|sleep 2; echo done && sleep 1\nexit 4; sleep 9", 4, 3 * time.Second, true},
		{"bash|-c|false && exit 4", 1, 0, true},
		{"sh|-c|false; true", 0, 0, true},
		{"sh|-c|echo \"hello\" world", 0, 0, true},
		{"sh|-c|echo $(date)", 0, 0, true},
		{"sh|-c|echo 'a; b' && sleep 2; exit 3", 3, 2 * time.Second, true},
		{"sh|-c|for i in 1 2 3; do echo $i; sleep 1; done", 0, 3 * time.Second, true},
		{"sh|-c|i=0; while [ $i -lt 4 ]; do i=$((i+1)); sleep 1; done; exit $i", 4, 4 * time.Second, true},
		{"sh|-c|i=0; while true; do echo $i; i=$((i+1)); sleep 1; done", 0, span.Forever, true},
		{"sh|-c|for i in $(seq 3); do sleep $i; done; if false; then exit 1; else exit 7; fi", 7, 6 * time.Second, true},
		{"sh|-c|until false; do date; done", 0, span.Forever, true},
		{"sh|-c|while true; do sleep 1; wget x; done", 0, 0, false},
		{"sh|-ec|false; exit 9", 1, 0, true},
		{"sh|-c|set -e; if false; then :; fi; ! true; (exit 5); exit 9", 5, 0, true},
		{"sh|-c|exec sleep 5; exit 1", 0, 5 * time.Second, true},
		{"sh|-c|echo x > /dev/null 2>&1; echo y >&2", 0, 0, true},
		{"sh|-c|echo x > /tmp/file", 0, 0, false},
		{"sh|-c|sleep 1 & wait", 0, 0, false},
		{"sh|-c|echo ~root", 0, 0, false},
		{"sh|-c|while true; do while true; do sleep 1; break 2; done; done; exit 2", 2, time.Second, true},
		{"echo|hello", 0, 0, true},
		{"sh|-c|sleep $N", 0, 0, false},
		{"sh|-c|while true; do echo hi; sleep 1; done", 0, span.Forever, true},
		{"sh|-c|wget -q x || exit 1", 0, 0, false},
		{"sh|-c|if [ $(expr 7 % 2) -ne 0 ]; then exit 1; else exit 0; fi", 1, 0, true},
		{"sh|-c|if [ $(expr 6 % 2) -ne 0 ]; then exit 1; else exit 0; fi", 0, 0, true},
		{"sh|-c|i=0; while [ $i -lt 3 ]; do i=$(expr $i + 1); sleep 1; done; exit $i", 3, 3 * time.Second, true},
		{"expr|1|=|2", 1, 0, true},
		{"expr|1|+", 2, 0, true},
		{"expr|abc|:|a", 0, 0, false},
		{"sh|-c|while true; do echo $RANDOM; sleep 1; done", 0, span.Forever, true},
		{"sh|-c|exit $(( $RANDOM / 32768 ))", 0, 0, true},
		{"sh|-c|a=xxxx; while true; do a=$a$a; done", 0, 0, false},
		{"sh|-c|a=xxxx; while true; do a+=$a; sleep 1; done", 0, 0, false},
		{"sh|-c|for i in {1..1000000000}; do echo $i; done", 0, 0, false},
		{"sh|-c|echo {1..9}{1..9}{1..9}{1..9}{1..9}{1..9}{1..9}", 0, 0, false},
		{"sh|-c|printf '%1000000000d'", 0, 0, false},
		{"sh|-c|a=$(seq 100000)", 0, 0, false},
		{"sh|-c|a=xxxx; a=${a//x/$a$a}", 0, 0, false},
		{"sh|-c|for i in {1..3}; do sleep $i; done", 0, 6 * time.Second, true},
		{"sh|-c|echo $((" + strings.Repeat("(", 400000), 0, 0, false},
		{"sh|-c|" + strings.Repeat("{ ", 5000) + ":", 0, 0, false},
		{"sh|-c", 0, 0, false},
		{"sh|script.sh", 0, 0, false},
	}
	for _, tt := range tests {
		t.Run(tt.command, func(t *testing.T) {
			var words []string
			if tt.command != "" {
				words = strings.Split(tt.command, "|")
			}
			code, runs, ok := Interpret(words, nil)
			if ok != tt.ok || ok && (code != tt.code || runs != tt.runs) {
				t.Errorf("got %d after %v, %v; want %d after %v, %v", code, runs, ok, tt.code, tt.runs, tt.ok)
			}
		})
	}
}

func FuzzInterpret(f *testing.F) {
	f.Add("sleep 1; exit 2")
	f.Add("while true; do sleep 1; done")
	f.Add("sleep 9999999999999999999d && sleep infinity")
	f.Fuzz(func(t *testing.T, script string) {
		code, runs, ok := Interpret([]string{"sh", "-c", script}, nil)
		if code < 0 || code > 255 || runs < 0 {
			t.Errorf("%q: %d after %v, %v", script, code, runs, ok)
		}
		Interpret(strings.Fields(script), nil)
	})
}
