package box

import (
	"strings"
	"testing"
)

// The exit codes are from curl 7.88, the texts about URLs from curl 8.
func TestCurlURLs(t *testing.T) {
	for _, c := range []struct {
		args, out, err string
		code           int
	}{
		{args: "'http://a b/'", err: "(3) URL rejected: Malformed input to a URL function", code: 3},
		{args: "''", err: "(3) URL rejected: Malformed input to a URL function", code: 3},
		{args: "http://", err: "(3) URL rejected: No host part in the URL", code: 3},
		{args: "http://web:99999/", err: "(3) URL rejected: Port number was not a decimal number between 0 and 65535", code: 3},
		{args: "http://web:abc/", err: "(3) URL rejected: Port number was not a decimal number between 0 and 65535", code: 3},
		{args: "http://[zz]/", err: "(3) bad range in URL position 9:", code: 3},
		{args: "-g http://[zz]/", err: "(3) URL rejected: Bad IPv6 address", code: 3},
		{args: "-g 'http://[::1'", err: "(3) URL rejected: Bad IPv6 address", code: 3},
		{args: "://x", err: "(3) URL rejected: Malformed input to a URL function", code: 3},
		{args: "foo://x", err: `(1) Protocol "foo" not supported`, code: 1},
		{args: "'http://web/{a'", err: "(3) unmatched brace in URL position 12:", code: 3},
		{args: "'http://web/[1-'", err: "(3) bad range in URL position 13:", code: 3},
		{args: "'http://web/x{}'", err: "(3) empty string within braces in URL position 14:", code: 3},
		{args: "'http://web/]'", err: "(3) unmatched close brace/bracket in URL position 12:", code: 3},
		{args: "http:/web/x http:///web/y HTTP://web", out: "GET /x\nGET /y\nGET /\n"},
		{args: "http://web/%zz", out: "GET /%25zz\n"},
		{args: "'web/{a,b}'", out: "GET /a\nGET /b\n"},
		{args: "'web/[08-10:2][x-y]'", out: "GET /08x\nGET /08y\nGET /10x\nGET /10y\n"},
		{args: "-m x web", err: "option -m: expected a proper numerical parameter", code: 2},
		{args: "web --retry", err: "option --retry: requires parameter", code: 2},
		{args: "-o /dev/null -w '%{http_code} %{ssl_verify_result} %{num_connects} %{method}' web", out: "200 0 1 GET"},
		{args: "--http0.9 web/x", out: "GET /x\n"},
	} {
		out, errOut, code := runOnNetwork(t, true, "curl -sS "+c.args)
		said, _, _ := strings.Cut(strings.TrimPrefix(errOut, "curl: "), "\n")
		if out != c.out || said != c.err || code != c.code {
			t.Errorf("curl %s: %q, %q, %d; want %q, %q, %d", c.args, out, said, code, c.out, c.err, c.code)
		}
	}
}
