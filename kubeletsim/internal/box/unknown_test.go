package box

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/kubeletsim/internal/memfs"
	"minikcm.dev/minikcm/kubeletsim/internal/shell"
)

// newUnknown returns a machine of an image that nothing describes, with a volume at /data.
func newUnknown(c clock.Clock) *Machine {
	space := memfs.NewSpace(c.Now, 0)
	view := memfs.NewView(NewImage(space, false))
	view.Mount("/data", space.NewTree(0o777), "", false)
	return &Machine{
		Files: view, Clock: c, Hostname: "web", Unknown: true, Memory: shell.NewBudget(64<<20, nil), Share: shell.NewShare(),
		Processes: []Process{{PID: 1, Command: "/usr/bin/tini -- serve"}},
	}
}

// TestUnknown shows what becomes of scripts that depend on the content of an image which nothing describes.
func TestUnknown(t *testing.T) {
	for _, tt := range []struct {
		script string
		out    string
		code   int
	}{
		// Programs succeed, and their output is unknown.
		{script: "redis-cli ping"},
		{script: "/opt/app/bin/tool x; echo $?", out: "0\n"},
		{script: "timeout 2 redis-cli ping && echo yes", out: "yes\n"},
		{script: "nohup timeout -k 1 2 env A=b nice -n 5 redis-cli ping"},
		{script: `r=$(redis-cli ping); if [ "$r" != PONG ]; then exit 1; fi; echo ok`, out: "ok\n"},
		{script: `[ "$(redis-cli ping)" = PONG ] || exit 1; echo ok`, out: "ok\n"},
		{script: `[[ $(redis-cli ping) == PONG ]] && echo ok`, out: "ok\n"},
		{script: `r=$(redis-cli ping); [ "$r" != PONG ]`},
		{script: `r=$(timeout 3 redis-cli ping); if [ "$?" -eq 124 ]; then echo timed out; exit 1; fi; if [ "$r" = LOADING ]; then exit 1; fi; echo ok`, out: "ok\n"},
		{script: `redis-cli ping | grep -q PONG && echo ok`, out: "ok\n"},
		{script: `redis-cli ping | grep -v PONG | wc -l | xargs test 0 -lt; echo "<$(redis-cli info | grep role | cut -d: -f2)>"`, out: "<<unknown>>\n"},
		{script: `n=$(curl -s x | jq length); [ "$n" -ge 3 ] || exit 1; [ $((n + 1)) -gt 5 ] && exit 2; (( n < 3 )) && echo less; echo ok`, out: "less\nok\n"},
		{script: `case "$(psql -tc 'select 1')" in *ERROR*) exit 1 ;; *1*) echo one ;; *) exit 2 ;; esac`, out: "one\n"},
		{script: `set -euo pipefail; foo | bar; x=$(foo); echo "x is $x, ${#x} long, ${x%%.*}"; foo`, out: "x is <unknown>, <unknown> long, <unknown>\n"},
		{script: `if ! pg_isready -h db; then exit 1; fi; echo ready`, out: "ready\n"},
		{script: `pg_isready || { echo "not ready" >&2; exit 1; }; echo ready`, out: "ready\n"},
		{script: `die() { echo "$1"; exit 1; }; [ "$(status)" = bad ] && die "bad"; echo ok`, out: "ok\n"},
		{script: `check() { if [ "$(status)" = green ]; then return 0; else return 1; fi; }; check && echo ok`, out: "ok\n"},
		{script: `foo; exit $?`},
		{script: `test "$(foo)" != bar; rc=$?; exit $rc`},
		{script: `exit 3`, code: 3},
		{script: `foo; [ -n "$MISSING" ] || exit 4`, code: 4},
		{script: `find / -name x -exec grep -q y {} \; | head -1; echo $?`, out: "0\n"},
		{script: `command -v curl >/dev/null || exit 1; which jq && type yq >/dev/null && echo there`, out: "there\n"},
		{script: `ps aux | grep -v grep | grep -q nginx && pgrep -x nginx && pidof java && echo runs`, out: "runs\n"},
		{script: `sysctl -w vm.max_map_count=262144; sysctl vm.max_map_count`, out: "vm.max_map_count = 262144\nvm.max_map_count = 262144\n"},
		{script: `echo b64 | base64 -d | sha256sum -c; echo $(foo) | base64 -w0 | base64 -d; printf '%d %s\n' $(foo) x`, out: "<unknown> x\n"},
		{script: `eval "$(ssh-agent)"; echo $SSH_AGENT_PID ${X:-default}`, out: "<unknown> default\n"},
		{script: `gosu redis tini -- sh -c 'echo inner'; su app -c 'echo su'; setpriv --reuid=1 echo priv`, out: "inner\nsu\npriv\n"},
		{script: `cp --no-such-option a b && sort --parallel=4 /etc/hosts && xargs --version && env --help && echo ok`, out: "ok\n"},
		{script: `</dev/tcp/db/5432 && exec 3<>/dev/tcp/localhost/2181 && echo ruok >&3 && grep -q imok <&3 && echo ok`, out: "ok\n"},
		{script: `bash -euo pipefail -c 'echo step; foo; echo done'`, out: "step\ndone\n"},
		// Waits end.
		{script: `until redis-cli ping; do sleep 1; done; while ! nc -z db 5432; do sleep 1; done; echo ok`, out: "ok\n"},
		{script: `while [ "$(curl -s x)" != green ]; do sleep 1; done; while pgrep x; do sleep 1; done; until [ -f /opt/ready ]; do sleep 1; done; echo ok`, out: "ok\n"},
		{script: `while true; do n=$(foo); if [ "$n" = pending ]; then sleep 1; continue; fi; break; done; echo ok`, out: "ok\n"},
		{script: `for i in 1 2 3; do foo && break; sleep 1; done; echo $i; foo | while read -r a b; do echo "$a-$b"; done`, out: "1\n<unknown>-<unknown>\n"},
		// Files.
		{script: `[ -f /opt/x/.initialized ] && echo there; [ ! -d /opt/x ] || echo dir; [[ -e /usr/lib/x && -r /usr/lib/y ]] && echo both`, out: "there\ndir\nboth\n"},
		{script: `[ -f /data/x ] || echo none; [ -e /tmp/x ] || echo none; cat /data/x || echo none`, out: "none\nnone\nnone\n"},
		{script: `rm -f /opt/flag; [ -f /opt/flag ] || echo gone; touch /opt/flag; [ -f /opt/flag ] && echo back; mkdir /opt/own; [ -f /opt/own/x ] || echo none`, out: "gone\nback\nnone\n"},
		{script: `. /opt/bitnami/scripts/lib.sh; . lib2.sh; is_yes "$X" && echo "$FROM_LIB ${Y:-z}"`, out: "<unknown> z\n"},
		{script: `set -u; source /opt/env.sh; echo "$PORT"; set -- "$A" b; echo $#`, out: "2\n"},
		{script: `cp /usr/local/bin/argocd /data/ && [ -x /data/argocd ] && /data/argocd version && ls /data`, out: "argocd\n"},
		{script: `cp -n /usr/local/bin/argocd /data/dex; cp --update=none /etc/x /data/y; cp -r /app/plugins /data/; cp -a /app/. /data/; [ -f /data/plugins/a.jar ] && ls /data`, out: "dex\nplugins\ny\n"},
		{script: `cp /data/none /data/x`, code: 1},
		{script: `mv /usr/bin/tool /data/tool && ln -s /data/tool /data/link && /data/link && [ -e /usr/bin/tool ] || echo moved`, out: "moved\n"},
		{script: `mkdir -p /opt/app/conf && echo a=1 > /opt/app/conf/own && cat /opt/app/conf/own && cat /opt/app/conf/other && grep -q x /opt/app/conf/other && echo ok`, out: "a=1\nok\n"},
		{script: `sed -i 's/a/b/' /etc/app.conf && echo x >> /etc/app.conf && grep x /etc/app.conf && awk '{print $1}' /etc/app.conf > /data/o && cat /data/o`, out: ""},
		{script: `cd /opt/app && ./run.sh && cd bin && sh start.sh && pwd`, out: "/opt/app/bin\n"},
		{script: `for f in /docker-entrypoint.d/*.sh; do echo "$f"; . "$f"; done; ls -A /docker-entrypoint.d`, out: "/docker-entrypoint.d/<unknown>\n"},
		{script: `[ -z "$(ls -A /var/lib/app)" ] && echo empty; [ -z "$(ls -A /data)" ] && echo empty`, out: "empty\n"},
		{script: `chown -R 1001:1001 /bitnami && chmod -R g+w /opt/x && chmod +x /opt/y && stat -c %a /opt/y && du -sh /opt/z && readlink -f /opt/z && echo ok`, out: "ok\n"},
		{script: `cat /etc/app/version; echo "v=$(cat /etc/app/version)"; tar czf /data/a.tgz /opt/app; tar tzf /data/a.tgz && echo ok`, out: "v=<unknown>\nok\n"},
		// What unknown programs may have written.
		{script: `wget -O /data/a.tgz http://x && [ -f /data/a.tgz ] && tar xzf /data/a.tgz -C /data && ls /data/b && echo ok; [ -e /tmp/x ] || echo none`, out: "ok\nnone\n"},
		{script: `git clone http://x /data/repo && cd /data/repo && cat conf/x && echo ok; cd /data; [ -f /data/y ] || echo none`, out: "ok\nnone\n"},
		{script: `plugin-cli install a; cp /data/* /tmp/ && [ -f /tmp/a ] && echo ok; cp /nowhere/none/* /tmp || echo none`, out: "ok\n"},
		{script: `cd /data && curl -LO http://x/y.zip && unzip y.zip && [ -f z ] && echo ok`, out: "ok\n"},
		{script: `openssl req -x509 -out /data/tls.crt -keyout=/data/tls.key; cat /data/tls.crt /data/tls.key && echo ok`, out: "ok\n"},
	} {
		m := newUnknown(clock.Real())
		began := clock.Real().Now()
		out, errOut, code := run(t, m, "", "sh", "-c", tt.script)
		if took := clock.Real().Since(began); took > time.Second {
			t.Errorf("%s takes %v", tt.script, took)
		}
		if out != tt.out || code != tt.code {
			t.Errorf("%s\nwrites %q (%q), ends with %d; want %q and %d", tt.script, out, errOut, code, tt.out, tt.code)
		}
	}
}

// TestUnknownPatterns shows which patterns may match a file that is not known, and which are taken for plain text.
func TestUnknownPatterns(t *testing.T) {
	for script, want := range map[string]string{
		// Addresses, arguments and messages.
		`echo http://web/?x=1 http://web/a[1] http://web/*.js "http://$HOSTNAME"/a?b`: "http://web/?x=1 http://web/a[1] http://web/*.js http://web/a?b\n",
		`u=http://web/a?b=1; echo $u; for i in $u; do echo "<$i>"; done`:              "http://web/a?b=1\n<http://web/a?b=1>\n",
		`echo web/a?z=2 web/a?z web/a[1] web:8080/a/* web?x=1 /api/v1/pods?limit=1`:   "web/a?z=2 web/a?z web/a[1] web:8080/a/* web?x=1 /api/v1/pods?limit=1\n",
		`echo -H Accept:* -H Accept:*/* -d a=* -d a=b/* --include=*.jar -Dx/*`:        "-H Accept:* -H Accept:*/* -d a=* -d a=b/* --include=*.jar -Dx/*\n",
		`echo [INFO] [*] ready? nope?x`:                                               "[INFO] [*] ready? nope?x\n",
		`foo; cd /data; echo http://web/?x=1 a=* [INFO] nope?x`:                       "http://web/?x=1 a=* [INFO] nope?x\n",
		`echo "http://$(foo)"/?x=1`:                                                   "http://<unknown>/?x=1\n",
		`shopt -s nullglob; echo a nope?x b`:                                          "a b\n",
		// Files.
		`cd /opt/app; echo /opt/app/*.jar /opt/a?.jar lib/*.jar ./a?.jar conf.d//*.sh x *.xml`: "/opt/app/<unknown> /opt/<unknown> lib/<unknown> ./<unknown> conf.d//<unknown> x <unknown>\n",
		`cd /opt; mkdir lib; echo lib/a? /opt/lib/dt=*`:                                        "lib/<unknown> /opt/lib/<unknown>\n",
		`cd /opt/app && cp lib/*.jar *.xml /data && [ -f /data/a.jar ] && echo ok`:             "ok\n",
		`echo /opt/*/ "/opt/a b"/*`:                                                            "/opt/<unknown>/ /opt/a b/<unknown>\n",
	} {
		if out, errOut, code := run(t, newUnknown(clock.Real()), "", "sh", "-c", script); out != want || errOut != "" || code != 0 {
			t.Errorf("%s\nwrites %q (%q), ends with %d; want %q", script, out, errOut, code, want)
		}
	}
}

func TestKnownImage(t *testing.T) {
	for script, want := range map[string]int{
		"redis-cli ping": 127, "timeout 2 redis-cli ping": 127, "[ -f /opt/x ]": 1, ". /opt/lib.sh": 2, "cp --no-such-option a b": 1, "cp /usr/local/bin/x /tmp": 1,
		"</dev/tcp/db/5432": 1, "command -v curl": 127, "gosu x y": 127, "cat /etc/nothing": 1,
	} {
		if _, _, code := run(t, newMachine(clock.Real(), nil), "", "sh", "-c", script); code != want {
			t.Errorf("%s ends with %d, want %d", script, code, want)
		}
	}
}

// An assumption is recorded, and the command says whether its end is one.
func TestAssumptions(t *testing.T) {
	mu := make(chan struct{}, 1)
	mu <- struct{}{}
	var all []string
	m := newUnknown(clock.Real())
	m.Assumed = func(what string) {
		<-mu
		all = append(all, what)
		mu <- struct{}{}
	}
	var ended error
	m.Main = &Main{Ended: func(_ int, err error) { ended = err }}
	script := "redis-cli ping; [ -f /opt/x ]; cat /etc/y; grep -P '(?<=a)b' /etc/hosts; </dev/tcp/db/5432; cp /bin/app /data"
	if _, _, code := run(t, m, "", "sh", "-c", script); code != 0 || !errors.Is(ended, ErrAssumed) {
		t.Errorf("ended with %d, %v", code, ended)
	}
	for _, want := range []string{"redis-cli succeeds", "/opt/x exists", "/etc/y exists", "db accepts connections at port 5432", "/bin/app exists"} {
		if !slices.Contains(all, want) {
			t.Errorf("%q is not among the assumptions: %q", want, all)
		}
	}
	for script, want := range map[string]error{"exit 3; foo": nil, "foo; exit 3": nil, "true": nil, "[ -f /opt/x ]": nil, "exec foo": ErrAssumed} {
		m := newUnknown(clock.Real())
		m.Main = &Main{Ended: func(_ int, err error) { ended = err }}
		_, _, _ = run(t, m, "", "sh", "-c", script)
		if !errors.Is(ended, want) || want == nil && ended != nil {
			t.Errorf("%s: %v, want %v", script, ended, want)
		}
	}
}

// A background job of an unknown program lasts in a container that does.
func TestUnknownBackgroundJob(t *testing.T) {
	m := newUnknown(clock.Real())
	m.Lasts = true
	out, _, _ := run(t, m, "", "sh", "-c", "server & pid=$!; kill -0 $pid && echo runs; kill $pid; wait $pid; foo; echo over")
	if out != "runs\nover\n" {
		t.Errorf("a lasting container: %q", out)
	}
	m = newUnknown(clock.Real())
	if out, _, _ := run(t, m, "", "sh", "-c", "a & b & wait; echo over"); out != "over\n" {
		t.Errorf("any other: %q", out)
	}
}

// A terminal shows what is assumed, once.
func TestAssumptionsOnTerminal(t *testing.T) {
	m := newUnknown(clock.Real())
	var out bytes.Buffer
	if _, err := m.Run(t.Context(), []string{"sh", "-c", "foo; foo"}, Streams{Out: &out, TTY: true}); err != nil {
		t.Fatal(err)
	}
	if got := out.String(); got != "minikcm: assumed that foo succeeds\r\n" {
		t.Errorf("%q", got)
	}
}

// With ShowAssumed, the standard error of a command gets what is assumed, each thing once and not without end.
func TestShowAssumed(t *testing.T) {
	for script, want := range map[string]string{
		"redis-cli ping; redis-cli ping; true": "minikcm: assumed that redis-cli succeeds\n",
		"curl -s http://web":                   "minikcm: assumed that curl succeeds, although it has reached nothing: its network is not simulated\n",
		"/usr/bin/nc -z web 80":                "minikcm: assumed that /usr/bin/nc succeeds, although it has reached nothing: its network is not simulated\n",
		"timeout 1 ping -c 1 web | cat":        "minikcm: assumed that ping succeeds, although it has reached nothing: its network is not simulated\n",
		"command -v psql":                      "minikcm: assumed that psql exists\n",
		"which psql":                           "minikcm: assumed that psql exists\n",
		"cat /etc/app.conf":                    "minikcm: assumed that /etc/app.conf exists\n",
		"ls /data":                             "",
	} {
		for _, shown := range []bool{true, false} {
			m := newUnknown(clock.Real())
			m.ShowAssumed = shown
			if !shown {
				want = ""
			}
			if out, errOut, code := run(t, m, "", "sh", "-c", script); out != "" || errOut != want || code != 0 {
				t.Errorf("%s (%v): %q, %q, %d; want %q", script, shown, out, errOut, code, want)
			}
		}
	}
	m := newUnknown(clock.Real())
	m.ShowAssumed = true
	if _, errOut, _ := run(t, m, "", "sh", "-c", "for i in $(seq 1000); do tool$i; done"); strings.Count(errOut, "\n") != maxShown {
		t.Errorf("it shows %d assumptions, want %d", strings.Count(errOut, "\n"), maxShown)
	}
}

func FuzzUnknown(f *testing.F) {
	for _, script := range []string{
		`r=$(foo); [ "$r" = x ] || exit 1; echo ${r%x} ${#r} $((r+1))`, `until foo; do :; done; while [ -f /opt/x ]; do break; done`, `. /opt/x; case $A in *) cp -r /opt/a /data;; esac`,
		`sed -i s/a/$(foo)/ /etc/x; foo | sort | head -1 > /data/$(foo); cat /data/*`, `mv /opt/a /data; rm -rf /opt; mkdir -p /opt/b/c; ls -lR /opt /data`,
	} {
		f.Add(script)
	}
	f.Fuzz(func(t *testing.T, script string) {
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		defer cancel()
		if len(script) > maxFuzzed {
			t.Skip()
		}
		m := newUnknown(clock.Real())
		m.Memory = shell.NewBudget(4<<20, nil)
		var out bytes.Buffer
		code, err := m.Run(ctx, []string{"sh", "-c", script}, Streams{Out: &out})
		if code < 0 || code > 255 || err != nil && ctx.Err() == nil {
			t.Errorf("%q ends with %d, %v", script, code, err)
		}
		if strings.Contains(out.String(), "\U0010FFFF") {
			t.Errorf("%q writes the mark: %q", script, out.String())
		}
		if used := m.Memory.Used(); ctx.Err() == nil && used > 1<<20 {
			t.Errorf("%d bytes stay reserved after %q", used, script)
		}
	})
}
