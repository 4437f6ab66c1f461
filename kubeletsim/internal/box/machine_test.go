package box

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/kubeletsim/internal/memfs"
	"minikcm.dev/minikcm/kubeletsim/internal/shell"
)

func newMachine(c clock.Clock, ledger *clock.Ledger) *Machine {
	space := memfs.NewSpace(c.Now, 0)
	image := NewImage(space, true)
	image.Put("etc/hostname", 0o644, []byte("web\n"))
	return &Machine{
		Files: memfs.NewView(image), Clock: c, Ledger: ledger, Hostname: "web", Env: []string{"COLOR=blue"},
		Processes: []Process{{PID: 1, Command: "nginx"}}, Memory: shell.NewBudget(64<<20, nil), Share: shell.NewShare(),
	}
}

// run runs a command with stdin, and returns what it wrote and its exit code.
func run(t *testing.T, m *Machine, stdin string, argv ...string) (out, errOut string, code int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var o, e bytes.Buffer
	streams := Streams{Out: &o, Err: &e}
	if stdin != "" {
		streams.In = strings.NewReader(stdin)
	}
	code, err := m.Run(ctx, argv, streams)
	if err != nil {
		t.Fatalf("%q: %v", argv, err)
	}
	return o.String(), e.String(), code
}

func TestPrograms(t *testing.T) {
	for _, tt := range []struct {
		script, stdin string
		out, err      string
		code          int
	}{
		{script: "echo hi", out: "hi\n"},
		{script: "cat /etc/hostname; hostname", out: "web\nweb\n"},
		{script: "exit 3", code: 3},
		{script: "echo $COLOR; COLOR=red printenv COLOR", out: "blue\nred\n"},
		{script: "nginx -t", err: "sh: nginx: not found\n", code: 127},
		{script: "/bin/sh -c 'nginx -t'", err: "/bin/sh: nginx: not found\n", code: 127},
		{script: "/bin/sh -c 'echo >/none/a'", err: "/bin/sh: can't create /none/a: nonexistent directory\n", code: 1},
		{script: "sh -c nginx own", err: "own: nginx: not found\n", code: 127},
		{script: "echo a >/tmp/synced; sync; cat /tmp/synced", out: "a\n"},
		{script: "echo a b | tr a-z A-Z | cat", out: "A B\n"},
		{script: "mkdir -p /data/x && echo 1 > /data/x/a && echo 2 >> /data/x/a && cat /data/x/a && ls /data", out: "1\n2\nx\n"},
		{script: "cat", stdin: "one\ntwo\n", out: "one\ntwo\n"},
		{script: "read a; read b; echo $b $a; cat", stdin: "one\ntwo\nthree\n", out: "two one\nthree\n"},
		{script: "while read line; do echo \"<$line>\"; done", stdin: "a\nb\n", out: "<a>\n<b>\n"},
		{script: "f() { echo $1; }; f x; for i in 1 2; do echo $((i*2)); done", out: "x\n2\n4\n"},
		{script: "cat /nope", err: "cat: /nope: No such file or directory\n", code: 1},
		{script: "echo b > f; echo a >> f; sort f; wc -l < f; grep -c a f", out: "a\nb\n2\n1\n"},
		{script: "cat <<EOF\n$COLOR\nEOF", out: "blue\n"},
		{script: "cd /etc && pwd && ls -d host*", out: "/etc\nhostname\n"},
		{script: "test -f /etc/hostname && [ -d /etc ] && echo yes", out: "yes\n"},
		{script: "seq 3 | xargs echo n", out: "n 1 2 3\n"},
		{script: "echo $0 $1", out: "sh\n"},
		{script: "sh -c 'echo $0 $1' a b", out: "a b\n"},
		{script: "printf '#!/bin/sh\\necho script $1\\n' > s; chmod +x s; ./s 1; sh s 2", out: "script 1\nscript 2\n"},
		{script: "echo x > f; tar cf a f /none 2>&1; echo $?; tar tf a", out: "tar: /none: No such file or directory\ntar: error exit delayed from previous errors\n1\nf\n"},
		{script: "mkdir d; echo x > d/f; tar cf - d | tar xf - -C /tmp; cat /tmp/d/f", out: "x\n"},
		{script: "ps", out: "PID   USER     TIME  COMMAND\n    1 root      0:00 nginx\n    2 root      0:00 ps\n"},
		{script: "cat <(echo hi)", out: "hi\n"},
		{script: "echo a >&2", err: "a\n"},
		{script: "sh -x -c 'true' 2>&1", out: "+ true\n"},
		{script: "head -1 /etc/passwd | cut -d: -f1,6", out: "root:/root\n"},
		{script: "echo x | sha256sum", out: "73cb3858a687a8494ca3323053016282f3dad39d42cf62ca4e79dda2aac7d9ac  -\n"},
		{script: "echo > /dev/null && ls /nope || echo failed", out: "failed\n", err: "ls: /nope: No such file or directory\n"},
		{script: "find /etc -name 'host*'", out: "/etc/hostname\n"},
		{script: "echo \"${TMPDIR:-none}\"", out: "none\n"},
		{script: "if", err: "sh: syntax error: sh:1:1: `if` must be followed by a statement list\n", code: 2},
	} {
		m := newMachine(clock.Real(), nil)
		out, errOut, code := run(t, m, tt.stdin, "sh", "-c", tt.script)
		if out != tt.out || errOut != tt.err || code != tt.code {
			t.Errorf("%s:\n got %q, %q, %d\nwant %q, %q, %d", tt.script, out, errOut, code, tt.out, tt.err, tt.code)
		}
	}
}

func TestNoSuchProgram(t *testing.T) {
	m := newMachine(clock.Real(), nil)
	_, err := m.Run(t.Context(), []string{"nginx"}, Streams{})
	var notStarted *NotStartedError
	want := `OCI runtime exec failed: exec failed: unable to start container process: exec: "nginx": executable file not found in $PATH: unknown`
	if !errors.As(err, &notStarted) || err.Error() != want {
		t.Errorf("got %v", err)
	}
}

// An open shell and a sleeping command do not hold virtual time.
func TestVirtualTime(t *testing.T) {
	ledger := clock.NewLedger()
	virtual := clock.NewVirtual(time.Unix(0, 0), ledger)
	m := newMachine(virtual, ledger)
	reader, writer := io.Pipe()
	var out bytes.Buffer
	done := make(chan int)
	go func() {
		code, err := m.Run(t.Context(), []string{"sh"}, Streams{In: reader, Out: &out})
		if err != nil {
			t.Error(err)
		}
		done <- code
	}()
	if _, err := io.WriteString(writer, "date +%s; sleep 3600; date +%s; exit 4\n"); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for ended := false; !ended; {
		if err := virtual.Advance(ctx, 30*time.Minute); err != nil {
			t.Fatal(err)
		}
		select {
		case code := <-done:
			ended = true
			if code != 4 {
				t.Errorf("exit code %d", code)
			}
		default:
		}
	}
	if !ledger.Idle() {
		t.Errorf("in flight: %s", ledger)
	}
	_ = writer.Close()
	var first, second int64
	if _, err := fmtSscan(out.String(), &first, &second); err != nil || second-first != 3600 {
		t.Errorf("slept from %d to %d (%v)", first, second, err)
	}
}

// On a terminal, a shell prompts, echoes and can be interrupted.
func TestTerminal(t *testing.T) {
	m := newMachine(clock.Real(), nil)
	reader, writer := io.Pipe()
	out := &waitingBuffer{changed: make(chan struct{}, 1)}
	done := make(chan int)
	go func() {
		code, err := m.Run(t.Context(), []string{"sh"}, Streams{In: reader, Out: out, TTY: true})
		if err != nil {
			t.Error(err)
		}
		done <- code
	}()
	for _, step := range []struct{ send, wait string }{
		{"", "/ # "},
		{"ecko\x7f\x7fho hi\r", "echo\b"},
		{"", "hi\r\n/ # "},
		{"sleep 1000\r", "sleep 1000\r\n"},
		{"\x03", "^C\r\n/ # "},
		{"echo $?\r", "130\r\n/ # "},
		{"cat\r", "cat\r\n"},
		{"line\r", "line\r\nline\r\n"},
		{"\x04", "/ # "},
		{"if true\r", "> "},
		{"\x03", "^C\r\n/ # "},
		{"cd /etc\r", "/etc # "},
	} {
		if _, err := io.WriteString(writer, step.send); err != nil {
			t.Fatal(err)
		}
		if step.wait != "echo\b" {
			out.waitFor(t, step.wait)
		}
	}
	if _, err := io.WriteString(writer, "exit 7\r"); err != nil {
		t.Fatal(err)
	}
	if code := <-done; code != 7 {
		t.Errorf("exit code %d", code)
	}
	_ = writer.Close()
}

// Programs that scripts use to look around, and to prepare files.
func TestMorePrograms(t *testing.T) {
	const table = "Filesystem            1K-blocks      Used Available Use% Mounted on\n"
	for _, tt := range []struct {
		script, out, err string
		code             int
	}{
		{script: "df / | head -1", out: table},
		{script: "df -h / | head -1; df -Ph / | head -1", out: "Filesystem                 Size      Used Available Use% Mounted on\nFilesystem                 Size      Used Available Capacity Mounted on\n"},
		{script: "df -P / | head -1; df -m /tmp | cut -c1-31", out: "Filesystem           1024-blocks      Used Available Capacity Mounted on\nFilesystem            1M-blocks\nmemory                      256\n"},
		{script: "df -T -B 4K / | cut -c1-40", out: "Filesystem           Type      4K-blocks\nmemory               tmpfs         65536\n"},
		{script: "df /none", err: "df: /none: No such file or directory\n", code: 1},
		{script: "cd /tmp; seq 5 > in; split -l 2 in /tmp/sp && ls sp*; cat spab spac; seq 3 | split -l1 -d -a 1 - n; ls n*; split -b 4 in && cat xaa && ls xa*", out: "spaa\nspab\nspac\n3\n4\n5\nn0\nn1\nn2\n1\n2\nxaa\nxab\nxac\n"},
		{script: "cd /tmp; seq 11 | split -l 1 -d -a 1 -", err: "split: -: Output file suffixes exhausted\n", code: 1},
		{script: "cd /tmp; split /none; split -l 0 in", err: "split: /none: No such file or directory\nsplit: invalid number '0'\n", code: 1},
		{script: "ulimit -n; ulimit; ulimit -Hn; ulimit -n 4096; ulimit -n; (ulimit -n 5; ulimit -n); ulimit -n; ulimit -c 0; ulimit -c; ulimit -a | grep files", out: "1048576\nunlimited\n1048576\n4096\n5\n4096\n0\nopen files                       (-n) 4096\n"},
		{script: "ulimit -z", err: "ulimit: -z: invalid option\n", code: 2},
		{script: "printf 'a\\nb\\nc\\n' > /1; printf 'b\\nc\\nd\\n' > /2; comm /1 /2; comm -12 /1 /2; comm -23 /1 /2; comm -3 /1 /2", out: "a\n\t\tb\n\t\tc\n\td\nb\nc\na\na\n\td\n"},
		{script: "printf 'a 1\\na 2\\nb 3\\nd 4\\n' > /1; printf 'a x\\na y\\nc z\\nd w\\n' > /2; join /1 /2; join -v 1 /1 /2; join -a 2 /1 /2 | tail -2", out: "a 1 x\na 1 y\na 2 x\na 2 y\nd 4 w\nb 3\nc z\nd 4 w\n"},
		{script: "printf 'x:1\\ny:2\\n' > /1; printf '1:one\\n2:two\\n' > /2; join -t : -1 2 -2 1 /1 /2", out: "1:x:one\n2:y:two\n"},
		{script: "getent passwd root; getent group 0; getent passwd nobody | cut -d: -f3; getent passwd none", out: "root:x:0:0:root:/root:/bin/sh\nroot:x:0:\n65534\n", code: 2},
		{script: "echo '10.0.0.1 web web.ns' > /etc/hosts; getent hosts web.ns; getent hosts other", out: "10.0.0.1        web web.ns\n", code: 2},
	} {
		out, errOut, code := run(t, newMachine(clock.Real(), nil), "", "sh", "-c", tt.script)
		if out != tt.out || errOut != tt.err || code != tt.code {
			t.Errorf("%s:\n got %q, %q, %d\nwant %q, %q, %d", tt.script, out, errOut, code, tt.out, tt.err, tt.code)
		}
	}
}

// Who may mount can mount file systems in memory and other paths, which later commands see; others cannot.
func TestMount(t *testing.T) {
	const denied = "mount: permission denied (are you root?)\n"
	for _, tt := range []struct {
		script, out, err string
		code             int
		denied           string
	}{
		{script: "mount -t tmpfs x /mnt && echo 1 > /mnt/a && ls /mnt && mount -t tmpfs | grep /mnt", out: "a\nmemory on /mnt type tmpfs (rw)\n", denied: denied},
		{script: "echo 1 > /opt/a; mount --bind /opt /srv && cat /srv/a && df /srv/a | tail -1 | grep -c /srv", out: "1\n1\n", denied: denied},
		{script: "echo 1 > /opt/a; mount -o bind,ro /opt /srv; echo 2 > /srv/a", err: "sh: can't create /srv/a: Read-only file system\n", code: 1},
		{script: "echo 1 > /mnt/a; mount -t tmpfs -o size=1M x /mnt; ls /mnt; umount /mnt && ls /mnt", out: "a\n"},
		{script: "mount -t tmpfs x /mnt; rm -r /mnt || rmdir /mnt", err: "rm: can't remove '/mnt': Device or resource busy\nrmdir: '/mnt': Device or resource busy\n", code: 1},
		{script: "mount -t tmpfs x /none", err: "mount: mounting x on /none failed: No such file or directory\n", code: 1, denied: "mount: mounting x on /none failed: No such file or directory\n"},
		{script: "mount -t ext4 /dev/sda /mnt", err: "mount: mounting /dev/sda on /mnt failed: No such device\n", code: 1, denied: denied},
		{script: "mount --bind /none /mnt", err: "mount: mounting /none on /mnt failed: No such file or directory\n", code: 1, denied: denied},
		{script: "mount --bind /etc/hostname /mnt", err: "mount: mounting /etc/hostname on /mnt failed: Not a directory\n", code: 1, denied: denied},
		{script: "touch /f; mount --bind /etc/hostname /f; cat /f; mount --make-rprivate /; umount /mnt", out: "web\n", err: "umount: can't unmount /mnt: Invalid argument\n", code: 1},
		{script: "umount /mnt", err: "umount: can't unmount /mnt: Invalid argument\n", code: 1, denied: "umount: can't unmount /mnt: Operation not permitted\n"},
	} {
		m := newMachine(clock.Real(), nil)
		m.Mounts = true
		out, errOut, code := run(t, m, "", "sh", "-c", tt.script)
		if out != tt.out || errOut != tt.err || code != tt.code {
			t.Errorf("%s:\n got %q, %q, %d\nwant %q, %q, %d", tt.script, out, errOut, code, tt.out, tt.err, tt.code)
		}
		if tt.denied == "" {
			continue
		}
		if out, errOut, code := run(t, newMachine(clock.Real(), nil), "", "sh", "-c", tt.script); out != "" || errOut != tt.denied || code != 1 {
			t.Errorf("%s, without the permission: %q, %q, %d, want %q", tt.script, out, errOut, code, tt.denied)
		}
	}
	m := newUnknown(clock.Real())
	m.Mounts = true
	if out, errOut, code := run(t, m, "", "sh", "-c", "mount --bind /opt/app /data && mount -t nfs db:/x /opt/nfs && mount -t tmpfs x /opt/app/cache && ls /data"); code != 0 {
		t.Errorf("in an unknown image: %q, %q, %d", out, errOut, code)
	}
}

// Awk reads and writes the container's files, and is unknown where its input or its program is.
func TestAwk(t *testing.T) {
	for _, tt := range []struct {
		script, out, err string
		code             int
	}{
		{script: "echo a b | awk '{print $2}'", out: "b\n"},
		{script: "awk -F: -v n=1 '$3 == 0 {print $n}' /etc/passwd", out: "root\n"},
		{script: "awk 'BEGIN {print ENVIRON[\"COLOR\"]; print \"e\" > \"/dev/stderr\"; print 1 > \"/tmp/o\"; print 2 > \"/tmp/o\"}'; cat /tmp/o", out: "blue\n1\n2\n", err: "e\n"},
		{script: "echo '{n++} END {print n}' > /p; awk -f /p /etc/hostname /none", out: "1\n", err: "awk: /none: No such file or directory\n", code: 2},
		{script: "awk '{'", err: "awk: syntax error: unexpected end of the program, expected }\n", code: 2},
		{script: "awk 'BEGIN {exit 3}'; echo $?; yes | awk 'NR == 2 {exit}'; seq 3 | awk '{s += $1} END {print s}'", out: "3\n6\n"},
	} {
		out, errOut, code := run(t, newMachine(clock.Real(), nil), "", "sh", "-c", tt.script)
		if out != tt.out || errOut != tt.err || code != tt.code {
			t.Errorf("%s:\n got %q, %q, %d\nwant %q, %q, %d", tt.script, out, errOut, code, tt.out, tt.err, tt.code)
		}
	}
	for script, want := range map[string]string{
		`foo | awk '{print $1}' > /tmp/x && echo "<$(cat /tmp/x)>"`: "<<unknown>>\n", `awk 'BEGIN {print strftime()}' && echo ok`: "ok\n", `awk '{print}' /etc/app.conf && echo ok`: "ok\n", `echo a b | awk '{print $2}'`: "b\n",
	} {
		if out, errOut, code := run(t, newUnknown(clock.Real()), "", "sh", "-c", script); out != want || code != 0 {
			t.Errorf("%s: %q, %q, %d, want %q", script, out, errOut, code, want)
		}
	}
	m := newMachine(clock.Real(), nil)
	m.Memory = shell.NewBudget(8<<20, nil)
	if _, _, code := run(t, m, "", "sh", "-c", `awk 'BEGIN {s = "x"; while (1) s = s s}'`); code != exitKilled || m.Memory.Used() != 0 {
		t.Errorf("beyond its memory: %d, %d bytes stay reserved", code, m.Memory.Used())
	}
}
