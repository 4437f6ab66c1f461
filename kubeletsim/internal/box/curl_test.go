package box

import (
	"regexp"
	"strings"
	"testing"
)

// curl 7.88 sends these requests, in another order of the headers.
func TestCurlSends(t *testing.T) {
	t.Parallel()
	const form = "POST /echo HTTP/1.1\nHost: web\nAccept: */*\nContent-Type: multipart/form-data; boundary=B\nUser-Agent: curl/8.14.1\n\n"
	post := func(body string) string {
		return "POST /echo HTTP/1.1\nHost: web\nAccept: */*\nContent-Type: application/x-www-form-urlencoded\nUser-Agent: curl/8.14.1\n\n" + body
	}
	get := func(uri, more string) string {
		return "GET " + uri + " HTTP/1.1\nHost: web\nAccept: */*\n" + more + "User-Agent: curl/8.14.1\n\n"
	}
	for _, c := range []struct{ args, request string }{
		{`-F a=b -F 'f=@f.txt;type=x/y' -F 'g=<f.txt' -F 'h=@f.txt;filename=zz' -F 'q="x;y";type=text/foo' --form-string 'r=@b;c' web/echo`, form +
			"--B\nContent-Disposition: form-data; name=\"a\"\n\nb\n" +
			"--B\nContent-Disposition: form-data; name=\"f\"; filename=\"f.txt\"\nContent-Type: x/y\n\nhello\n\n" +
			"--B\nContent-Disposition: form-data; name=\"g\"\n\nhello\n\n" +
			"--B\nContent-Disposition: form-data; name=\"h\"; filename=\"zz\"\nContent-Type: text/plain\n\nhello\n\n" +
			"--B\nContent-Disposition: form-data; name=\"q\"\nContent-Type: text/foo\n\nx;y\n" +
			"--B\nContent-Disposition: form-data; name=\"r\"\n\n@b;c\n--B--\n"},
		{`--json '{"a":1}' --json ,x web/echo`, "POST /echo HTTP/1.1\nHost: web\nAccept: application/json\nContent-Type: application/json\nUser-Agent: curl/8.14.1\n\n{\"a\":1},x"},
		{`-d @nl.txt web/echo`, post("abc")},
		{`-H Accept: -H 'User-Agent:' -H 'X-None:' -H 'X-Empty;' web/echo`, "GET /echo HTTP/1.1\nHost: web\nX-Empty: \n\n"},
		{`--data-binary @nl.txt web/echo`, post("a\nb\nc")},
		{`--data-raw @nl.txt web/echo`, post("@nl.txt")},
		{`--data-urlencode 'a b' --data-urlencode '=c d' --data-urlencode 'n=é&' --data-urlencode @f.txt --data-urlencode m@f.txt web/echo`, post("a+b&c+d&n=%C3%A9%26&hello%0A&m=hello%0A")},
		{`-G -d a=b --data-urlencode 'c=d e' 'web/echo?x'`, get("/echo?x&a=b&c=d+e", "")},
		{`--url-query 'c=d e' -r 0-3 web/echo`, get("/echo?c=d+e", "Range: bytes=0-3\n")},
		{`-b 'a=b; c=d' -b e=f -b jar -e http://ref web/echo`, get("/echo", "Cookie: a=b; c=d;e=f\nReferer: http://ref\n")},
		{`-T f.txt web/echo/`, "PUT /echo/f.txt HTTP/1.1\nHost: web\nAccept: */*\nUser-Agent: curl/8.14.1\n\nhello\n"},
		{`--resolve other:80:10.96.0.20 other/echo -H Host:\ web`, get("/echo", "")},
		{`--resolve '*:80:[::1],::2' --resolve OTHER:80:10.96.0.20 other/echo -H Host:\ web`, get("/echo", "")},
		{`--connect-to other:81:web:80 other:81/echo -H Host:\ web`, get("/echo", "")},
		{`--connect-to ::web: other/echo -H Host:\ web`, get("/echo", "")},
	} {
		out, errOut, code := runOnNetwork(t, true, "cd /tmp; echo hello >f.txt; printf 'a\\nb\\r\\nc' >nl.txt; curl -sS "+c.args)
		out = regexp.MustCompile("-{24}[0-9a-f]{22}").ReplaceAllString(strings.ReplaceAll(out, "\r", ""), "B")
		if out != c.request || errOut != "" || code != 0 {
			t.Errorf("curl %s: %q %d\ngot  %q\nwant %q", c.args, errOut, code, out, c.request)
		}
	}
}

// curl 7.88 prints the same, except for times, and the texts about files, which are of version 8.
func TestCurlOptions(t *testing.T) {
	t.Parallel()
	const try = "curl: try 'curl --help' or 'curl --manual' for more information\n"
	for _, c := range []struct {
		script, out, err string
		code             int
	}{
		{script: "curl --foo web", err: "curl: option --foo: is unknown\n" + try, code: 2},
		{script: "curl -s% web", err: "curl: option -s%: is unknown\n" + try, code: 2},
		{script: "curl --output=x web", err: "curl: option --output=x: is unknown\n" + try, code: 2},
		{script: "curl web --max-time", err: "curl: option --max-time: requires parameter\n" + try, code: 2},
		{script: "curl web -H", err: "curl: option -H: requires parameter\n" + try, code: 2},
		{script: "curl -m x web", err: "curl: option -m: expected a proper numerical parameter\n" + try, code: 2},
		{script: "curl --no-output web", err: "curl: option --no-output: is unknown\n" + try, code: 2},
		{script: "curl -s --no-silent nosuch; curl --no-alpn -sS -- web", out: "GET /\n", err: "curl: (6) Could not resolve host: nosuch\n"},
		{script: "curl --socks5 x web && echo assumed", out: "assumed\n"},
		{script: "curl -F foo web", err: "Warning: Illegally formatted input field!\ncurl: option -F: is badly used here\n" + try, code: 2},
		{script: "curl -F a=b -d x web", err: "Warning: You can only select one HTTP request method! You asked for both POST \nWarning: (-d, --data) and multipart formpost (-F, --form).\n", code: 2},
		{script: "curl -I -d x web", err: "Warning: You can only select one HTTP request method! You asked for both POST \nWarning: (-d, --data) and HEAD (-I, --head).\n", code: 2},
		{script: "touch /none; rm /none; curl -sS -F f=@/none web", err: "curl: (26) Failed to open/read local data from file/application\n", code: 26},
		{script: "touch /none; rm /none; curl -sS -d @/none web", err: "curl: Failed to open /none\ncurl: option --data: error encountered when reading a file\n" + try, code: 26},
		{script: "curl -sS --resolve web:80 web", err: "curl: (49) Couldn't parse CURLOPT_RESOLVE entry 'web:80'\n", code: 49},
		{script: "curl -sS --resolve web:99999:10.96.0.20 web", err: "curl: (49) Couldn't parse CURLOPT_RESOLVE entry 'web:99999:10.96.0.20'\n", code: 49},
		{script: "curl -sS --connect-to web:80:web:99999 web", err: "curl: (49) No valid port number in connect to host string (99999)\n", code: 49},
		{script: "curl -sS --connect-to web:80:nosuch web", err: "curl: (6) Could not resolve host: nosuch\n", code: 6},
		{script: "curl -sS --connect-to web:80:empty: web", err: "curl: (7) Failed to connect to empty port 80 after 0 ms: Could not connect to server\n", code: 7},
		{script: "curl -s -D - -o /dev/null web", out: "HTTP/1.1 200 OK\r\nContent-Length: 6\r\nContent-Type: text/plain\r\n\r\n"},
		{script: "curl -sL -D /tmp/h 'web/302?to=/a' web/b; grep -c HTTP /tmp/h; grep -i ^location /tmp/h", out: "GET /a\nGET /b\n3\nLocation: /a\r\n"},
		{script: "touch /none; curl -sS -D /none/x web", err: "curl: Failed to open /none/x\n", code: 23},
		{script: "curl -s -o /tmp/a web/a -o /tmp/b web/b web/c; cat /tmp/a /tmp/b", out: "GET /c\nGET /a\nGET /b\n"},
		{script: "curl -so /dev/null web -w '%{foo}|%{time_namelookup} %{time_connect} %{time_appconnect} %{time_pretransfer} %{time_starttransfer} %{time_total}'", out: "|0.000500 0.000500 0.000000 0.000500 0.000500 0.000500", err: "curl: unknown --write-out variable: 'foo'\n"},
		{script: "curl -so /dev/null 10.96.0.20 -w '%{time_namelookup} %{time_connect}'", out: "0.000000 0.000500"},
		{script: `curl -so /tmp/x web -w '%{stderr}x%{stdout}y %header{content-length} %{num_headers} %{size_header} %{size_request} %{filename_effective} %{num_connects}%%\n'`, out: "y 6 2 64 67 /tmp/x 1%\n", err: "x"},
		{script: `curl -s web -w '%{onerror}bad'; curl -s nosuch -w '%{onerror}%{exitcode}'; curl -s web -w '%{http_code'`, out: "GET /\n6GET /\n%{http_code"},
		{script: `curl -so /dev/null web -w '%{json}' | grep -o '"http_code.*local_ip'`, out: `"http_code":200,"http_connect":0,"http_version":"1.1","local_ip` + "\n"},
	} {
		out, errOut, code := runOnNetwork(t, true, c.script)
		if out != c.out || errOut != c.err || code != c.code {
			t.Errorf("%s:\ngot  %q %q %d\nwant %q %q %d", c.script, out, errOut, code, c.out, c.err, c.code)
		}
	}
}
