package box

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/internal/inflight"
)

// Python 3.11 prints these lines and answers, but for the names of its types of files.
func TestPythonServer(t *testing.T) {
	t.Parallel()
	const (
		files  = "mkdir -p /tmp/p/sub; cd /tmp/p; echo hi >a.txt; touch .hid 'x y&<.html'; ln -s a.txt link; echo in >sub/index.html; "
		head   = "HTTP/1.0 200 OK\nServer: SimpleHTTP/0.6 Python/3.11.7\n"
		at     = "10.244.0.9 - - [09/Sep/2001 01:46:41] "
		ask    = "printf 'GET %s HTTP/1.0\\r\\n\\r\\n' "
		client = " | nc web 80 | grep -v ^Date | tr -d '\\r'"
	)
	for _, c := range []struct{ server, client, out, served, log string }{
		{
			"exec python3 -m http.server 80", ask + "/" + client,
			head + "Content-type: text/html; charset=utf-8\nContent-Length: 380\n\n" + "<!DOCTYPE HTML>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<title>Directory listing for /</title>\n</head>\n<body>\n<h1>Directory listing for /</h1>\n<hr>\n<ul>\n" +
				"<li><a href=\".hid\">.hid</a></li>\n<li><a href=\"a.txt\">a.txt</a></li>\n<li><a href=\"link\">link@</a></li>\n<li><a href=\"sub/\">sub/</a></li>\n<li><a href=\"x%20y%26%3C.html\">x y&amp;&lt;.html</a></li>\n</ul>\n<hr>\n</body>\n</html>\n",
			"", at + "\"GET / HTTP/1.0\" 200 -\n",
		},
		{
			"cd /; python -u -m http.server --directory /tmp/p --bind 127.0.0.1 80", ask + "/a.txt" + client + " | grep -v ^Last",
			head + "Content-type: text/plain\nContent-Length: 3\n\nhi\n", "Serving HTTP on 127.0.0.1 port 80 (http://127.0.0.1:80/) ...\n", at + "\"GET /a.txt HTTP/1.0\" 200 -\n",
		},
		{
			"PYTHONUNBUFFERED=1 python3.12 -Wignore -um http.server -d/tmp/p -b :: 80", ask + "/sub" + client + "; " + ask + "/sub/" + client + " | tail -n 1",
			"HTTP/1.0 301 Moved Permanently\nServer: SimpleHTTP/0.6 Python/3.11.7\nLocation: /sub/\nContent-Length: 0\n\nin\n", "Serving HTTP on :: port 80 (http://[::]:80/) ...\n",
			at + "\"GET /sub HTTP/1.0\" 301 -\n" + at + "\"GET /sub/ HTTP/1.0\" 200 -\n",
		},
		{
			"python3 -m http.server 80", ask + "/a.txt/" + client + " | head -n 5; printf 'POST / HTTP/1.0\\r\\n\\r\\n'" + client + " | grep Message; echo garbage" + client + " | grep Message",
			"HTTP/1.0 404 File not found\nServer: SimpleHTTP/0.6 Python/3.11.7\nConnection: close\nContent-Type: text/html;charset=utf-8\nContent-Length: 335\n" +
				"        <p>Message: Unsupported method (&#39;POST&#39;).</p>\n        <p>Message: Bad request syntax (&#39;garbage&#39;).</p>\n",
			"", at + "code 404, message File not found\n" + at + "\"GET /a.txt/ HTTP/1.0\" 404 -\n" + at + "code 501, message Unsupported method ('POST')\n" + at + "\"POST / HTTP/1.0\" 501 -\n" +
				at + "code 400, message Bad request syntax ('garbage')\n" + at + "\"garbage\" 400 -\n",
		},
	} {
		ledger := clock.NewLedger()
		virtual := clock.NewVirtual(time.Unix(1e9, 0), ledger)
		n := newFakeNetwork()
		server := machineOn(t, n, true, virtual, ledger)
		server.Main = &Main{Work: inflight.Begin(ledger, inflight.Action)}
		ctx, cancel := context.WithCancel(t.Context())
		var served, log strings.Builder
		var serving sync.WaitGroup
		serving.Go(func() {
			_, _ = server.Run(ctx, []string{"sh", "-c", files + c.server}, Streams{Out: &served, Err: &log}) // until cancel
		})
		out, _, _ := runToEnd(t, machineOn(t, n, false, virtual, ledger), virtual, ledger, "sleep 1; "+c.client)
		cancel()
		serving.Wait()
		virtual.Close()
		if out != c.out || served.String() != c.served || log.String() != c.log {
			t.Errorf("%s, %s:\ngot  %q, served %q, log %q\nwant %q, served %q, log %q", c.server, c.client, out, &served, &log, c.out, c.served, c.log)
		}
	}
	for _, c := range []struct {
		script, out, err string
		code             int
	}{
		{script: "python3 -m http.server abc", err: pythonUsage + "server.py: error: argument port: invalid int value: 'abc'\n", code: 2},
		{script: "python3 -m http.server --foo", err: pythonUsage + "server.py: error: unrecognized arguments: --foo\n", code: 2},
		{script: "python3 -m http.server -d", err: pythonUsage + "server.py: error: argument -d/--directory: expected one argument\n", code: 2},
		{script: "python3 -m http.server 81", err: "Traceback (most recent call last):\nOSError: [Errno 98] Address already in use\n", code: 1},
		{script: "python3 -m http.server 70000", err: "Traceback (most recent call last):\nOverflowError: bind(): port must be 0-65535.\n", code: 1},
		{script: "python3 -m json.tool x && python3 app.py && echo assumed", out: "assumed\n"},
	} {
		if out, errOut, code := runOnNetwork(t, true, c.script); out != c.out || errOut != c.err || code != c.code {
			t.Errorf("%s: %q %q %d, want %q %q %d", c.script, out, errOut, code, c.out, c.err, c.code)
		}
	}
}
