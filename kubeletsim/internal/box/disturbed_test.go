package box

import (
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"k8s.io/utils/ptr"

	"minikcm.dev/minikcm/internal/network/dns"
	"minikcm.dev/minikcm/internal/network/ends"
	"minikcm.dev/minikcm/internal/network/faults"
)

// ruleTo returns a rule about the Service web.
func ruleTo(r faults.Rule) *faults.Rule {
	if r.DNS == nil {
		r.To = ends.Set{{Kind: ends.Service, Namespace: "default", Name: "web"}}
	}
	r.Title, r.Percent, r.Direction = "test", 100, faults.Both
	return &r
}

func patchOf(text string) *faults.Patch {
	p, err := faults.ParsePatch(text)
	if err != nil {
		panic(err)
	}
	return p
}

// Programs see faults of the network as on Linux, at the same times.
func TestDisturbedPrograms(t *testing.T) {
	for name, c := range map[string]struct {
		rule   faults.Rule
		script string
		out    string
		err    string
		code   int
	}{
		"partition":        {rule: faults.Rule{Partition: true}, script: "curl -sS -m 3 web", err: "curl: (28) Connection timed out after 3000 milliseconds\n", code: 28},
		"another way":      {rule: faults.Rule{Partition: true}, script: "curl -sS -m 3 empty", err: "curl: (7) Failed to connect to empty port 80 after 0 ms: Could not connect to server\n", code: 7},
		"delay":            {rule: faults.Rule{Delay: 100 * time.Millisecond}, script: "curl -s -o /dev/null -w '%{time_connect} %{time_total}' web", out: "0.200500 0.400500"},
		"delay over limit": {rule: faults.Rule{Delay: 2 * time.Second}, script: "curl -sS -m 3 web; wget -q -T 5 -O- web && wget -q -T 3 -O- web", out: "GET /\n", err: "curl: (28) Connection timed out after 3000 milliseconds\nwget: download timed out\n", code: 1},
		"slow answer":      {rule: faults.Rule{Delay: time.Second}, script: "curl -sS -m 3 web", err: "curl: (28) Operation timed out after 3000 milliseconds with 0 bytes received\n", code: 28},
		"reset":            {rule: faults.Rule{Reset: true}, script: "curl -sS web; wget -q -O- web; nc -z web 80 && echo open; printf 'GET / HTTP/1.1\\n\\n' | nc web 80", out: "open\n", err: "curl: (56) Recv failure: Connection reset by peer\nwget: error getting response: Connection reset by peer\nnc: read: Connection reset by peer\n", code: 1},
		"bandwidth":        {rule: faults.Rule{Rate: 48}, script: "curl -s -o /dev/null -w '%{time_total}' web", out: "1.000500"},
		"abort":            {rule: faults.Rule{HTTP: &faults.HTTP{Abort: true}}, script: "curl -sS web; wget -q -O- web", err: "curl: (52) Empty reply from server\nwget: error getting response\n", code: 1},
		"replace":          {rule: faults.Rule{HTTP: &faults.HTTP{Answer: &faults.Change{Status: 503, Body: ptr.To("no\n")}, Path: "/a*"}}, script: "curl -s web/ab -w '%{http_code}\\n'; curl -s web/b", out: "no\n503\nGET /b\n"},
		"patched request":  {rule: faults.Rule{HTTP: &faults.HTTP{Request: &faults.Change{Method: "PUT", Path: "/p", AddQuery: []faults.Pair{{Name: "q", Value: "1"}}}}}, script: "curl -sS 'http://web/a?z=2'", out: "PUT /p?q=1&z=2\n"},
		"patched answer":   {rule: faults.Rule{HTTP: &faults.HTTP{Answers: true, Answer: &faults.Change{Headers: []faults.Pair{{Name: "X-A", Value: "b"}}, Body: ptr.To("{\"a\":1}\n"), JSON: patchOf(`{"a":2}`)}}}, script: "curl -si web | sed -n 's/\r//; /^X-A/p; $p'", out: "X-A: b\n{\"a\":2}\n"},
		"aborted answer":   {rule: faults.Rule{HTTP: &faults.HTTP{Answers: true, Status: 200, Abort: true}}, script: "curl -sS web", err: "curl: (52) Empty reply from server\n", code: 52},
		"delayed answer":   {rule: faults.Rule{HTTP: &faults.HTTP{Delay: 2 * time.Second, Methods: []string{"POST"}}}, script: "curl -s -o /dev/null -w '%{time_total} ' web; curl -s -d x -o /dev/null -w '%{time_total}' web", out: "0.000500 2.000500"},
		"servfail":         {rule: faults.Rule{DNS: &faults.DNS{Code: dns.ServFail, Names: []string{"web.*"}}}, script: "curl -sS web; nslookup web | tail -2; nslookup empty | tail -2 | head -1", out: "** server can't find web: SERVFAIL\n\nAddress: 10.96.0.22\n", err: "curl: (6) Could not resolve host: web\n"},
		"nxdomain":         {rule: faults.Rule{DNS: &faults.DNS{Code: dns.NXDomain}}, script: "wget -q -O- web", err: "wget: bad address 'web'\n", code: 1},
		"no answer":        {rule: faults.Rule{DNS: &faults.DNS{Code: dns.NoAnswer}}, script: "date +%s; curl -sS web; date +%s; getent hosts web; date +%s", out: "1000000000\n1000000010\n1000000020\n", err: "curl: (6) Could not resolve host: web\n"},
		"wrong answer":     {rule: faults.Rule{DNS: &faults.DNS{Code: dns.NoError}}, script: "curl -sS -m 4 web", err: "curl: (28) Connection timed out after 4000 milliseconds\n", code: 28},
	} {
		t.Run(name, func(t *testing.T) {
			out, errOut, code := runDisturbed(t, ruleTo(c.rule), c.script)
			if out != c.out || errOut != c.err || code != c.code {
				t.Errorf("%s:\ngot  %q %q %d\nwant %q %q %d", c.script, out, errOut, code, c.out, c.err, c.code)
			}
		})
	}
}

// Half of the packets are lost: connections take 0, 1, 3, 7 ... seconds, as the repeated SYNs do, the same ones each time.
func TestLoss(t *testing.T) {
	const script = "for i in 1 2 3 4 5 6 7 8; do curl -s -o /dev/null -w '%{time_connect} ' web; done"
	first, _, _ := runDisturbed(t, ruleTo(faults.Rule{Loss: 50}), script)
	again, _, _ := runDisturbed(t, ruleTo(faults.Rule{Loss: 50}), script)
	if first != again || first == "" {
		t.Errorf("two runs differ:\n%s\n%s", first, again)
	}
	late := 0
	for _, text := range strings.Fields(first) {
		took, err := strconv.ParseFloat(text, 64)
		if err != nil || !slices.Contains([]float64{0, 1, 3, 7, 15, 31, 63, 127}, took-0.0005) {
			t.Errorf("a connection takes %s s: %v", text, err)
		}
		if took > 1 {
			late++
		}
	}
	if late == 0 {
		t.Error("nothing is late: " + first)
	}
}
