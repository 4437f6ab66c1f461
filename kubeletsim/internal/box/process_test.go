package box

import (
	"strings"
	"testing"
	"time"

	"minikcm.dev/minikcm/clock"
)

// TestProcessSubstitution shows files that are pipes to other commands.
func TestProcessSubstitution(t *testing.T) {
	for script, want := range map[string]string{
		`diff <(echo a) <(echo a) && echo same`:                                                      "same\n",
		`cmp -s <(echo a) <(echo b) || echo differ`:                                                  "differ\n",
		`while read -r l; do n=$((n+1)); echo "got $l"; done < <(printf '1\n2\n'); echo $n`:          "got 1\ngot 2\n2\n",
		`cat <(echo x) <(echo y) | tac`:                                                              "y\nx\n",
		`mapfile -t a < <(printf '1\n2\n'); echo ${#a[@]}`:                                           "2\n",
		`source <(echo 'f() { echo "f $1"; }'); f 1; . <(echo v=2); echo $v`:                         "f 1\n2\n",
		`echo hi > >(sed s/^/x/); echo two`:                                                          "xhi\ntwo\n",
		`printf 'a\nb\n' | tee >(grep b > /tmp/b) > /dev/null; cat /tmp/b`:                           "b\n",
		`exec > >(tee /tmp/log) 2>&1; echo one; ls /tmp/none; trap 'echo end' EXIT`:                  "one\nls: /tmp/none: No such file or directory\nend\n",
		`exec > >(cat); (sleep 0.01; echo late) & echo soon; wait`:                                   "soon\nlate\n",
		`f() { local d=$1; shift; "$@" < <(echo "$d"); }; f in cat; f in head -c 1`:                  "in\ni",
		`head -1 <(yes); echo $?`:                                                                    "y\n0\n",
		`echo <(true) >(true)`:                                                                       "/dev/fd/63 /dev/fd/62\n",
		`paste -d, <(seq 2) <(seq 3 4); timeout 5 cat <(echo t); bash -c 'cat "$1"' x <(echo inner)`: "1,3\n2,4\nt\ninner\n",
		`exec 3< <(echo kept); echo between; cat <&3; cat /dev/fd/3 && exec 3>&-`:                    "between\nkept\n",
		`bash <(echo 'echo script $1') arg; x=$(cat <(cat <(echo deep))); echo $x`:                   "script arg\ndeep\n",
		`for i in 1 2 3; do cat <(echo $i); done; if grep -q b <(echo abc); then echo yes; fi`:       "1\n2\n3\nyes\n",
		`set -e; cat <(false; echo after) ; echo done`:                                               "done\n",
	} {
		m := newMachine(clock.Real(), nil)
		if out, errOut, _ := run(t, m, "", "bash", "-c", script); out != want {
			t.Errorf("%s\nwrites %q (%q), want %q", script, out, errOut, want)
		}
		if used := m.Memory.Used(); used > 8<<10 { // files
			t.Errorf("%d bytes stay reserved after %s", used, script)
		}
	}
}

// TestScriptFromInput shows commands that a shell reads as they come.
func TestScriptFromInput(t *testing.T) {
	for _, tt := range []struct {
		script, want string
		args         []string
	}{
		{script: "cat <<EOF\n1\n2\nEOF\necho $#", want: "1\n2\n0\n"},
		{script: "while read -r l <&5; do\n  echo \"[$l]\"\ndone 5<<'EOF'\n$a\nEOF\necho end\n", want: "[$a]\nend\n"},
		{script: "echo \"$0 $1 $#\"", args: []string{"-s", "--", "a", "b"}, want: "bash a 2\n"},
		{script: "echo \"$1\"; exit 0\necho not", args: []string{"-es", "a"}, want: "a\n"},
	} {
		out, errOut, _ := run(t, newMachine(clock.Real(), nil), tt.script, append([]string{"bash"}, tt.args...)...)
		if out != tt.want {
			t.Errorf("%s\nwrites %q (%q), want %q", tt.script, out, errOut, tt.want)
		}
	}
}

func TestFindPrintf(t *testing.T) {
	const files = "mkdir -p /tmp/d/e; printf abc > /tmp/d/e/f; ln -s f /tmp/d/e/l; "
	for script, want := range map[string]string{
		`find /tmp/d -type f -printf '%f %h %P %s %m %d %y %u%%\n'`:                                          "f /tmp/d/e e/f 3 644 2 f root%\n",
		`find /tmp/d -name l -printf '%l\t%p\0'`:                                                             "f\t/tmp/d/e/l\x00",
		`find /tmp/d -name f -printf '%TY' | wc -c`:                                                          "4\n",
		`find /tmp/d -printf '%d' -name nothing`:                                                             "0122",
		`sed -i.bak s/b/x/ /tmp/d/e/f; cd /tmp/d/e; cat f f.bak; sed --in-place='old-*' s/x/y/ f; cat old-f`: "axcabcaxc",
		`echo 'key: val, key: w' | grep -oP 'key: \K\w+'`:                                                    "val\nw\n",
	} {
		if out, errOut, _ := run(t, newMachine(clock.Real(), nil), "", "bash", "-c", files+script); out != want {
			t.Errorf("%s\nwrites %q (%q), want %q", script, out, errOut, want)
		}
	}
	if _, errOut, code := run(t, newMachine(clock.Real(), nil), "", "find", "/tmp", "-printf", "%Z"); code == 0 || !strings.Contains(errOut, "printf %Z") {
		t.Errorf("an unknown directive: %d, %q", code, errOut)
	}
}

// Time stands still while a part of a command computes, also while other parts sleep or wait for each other.
func TestPartsOfCommands(t *testing.T) {
	const busy = "for k in 1 2 3 4 5; do seq 2000 | sort -r | tail -1 >/dev/null; done; date +%s"
	for _, c := range []struct{ script, out string }{
		{"sleep 100 & for i in 1 2 3; do sleep 1; " + busy + "; done", "1\n2\n3\n"},
		{"{ sleep 1; echo a; sleep 50; } | while read a; do " + busy + "; done", "1\n"},
		{"(sleep 2; " + busy + ") & (sleep 1; " + busy + "; sleep 9) & sleep 40 & wait; date +%s", "1\n2\n40\n"},
		{"{ sleep 3; echo a; } | { cat & cat; wait; } | { read a; " + busy + "; sleep 5; }; date +%s", "3\n8\n"},
		{"timeout 2 cat <(sleep 1; echo x; sleep 7); date +%s", "x\n2\n"},
		{"sleep 5 & timeout 1 sh -c 'sleep 9 | cat'; date +%s; wait $!; date +%s", "1\n5\n"},
	} {
		ledger := clock.NewLedger()
		virtual := clock.NewVirtual(time.Unix(0, 0), ledger)
		out, errOut, _ := runToEnd(t, newMachine(virtual, ledger), virtual, ledger, c.script)
		virtual.Close()
		if out != c.out || errOut != "" {
			t.Errorf("%s: %q %q, want %q", c.script, out, errOut, c.out)
		}
	}
}
