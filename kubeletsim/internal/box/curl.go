package box

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path"
	"strconv"
	"strings"
	"syscall"
	"time"

	"minikcm.dev/minikcm/internal/network/reach"
	"minikcm.dev/minikcm/internal/network/secure"
)

// The exit codes of curl.
const (
	curlUnsupported = 1
	curlNoURL       = 2
	curlMalformed   = 3
	curlNoHost      = 6
	curlNoConnect   = 7
	curlPartial     = 18
	curlHTTPError   = 22
	curlWriteError  = 23
	curlTimedOut    = 28
	curlRedirects   = 47
	curlNoTLS       = 35
	curlEmptyAnswer = 52
	curlReceive     = 56
	curlUntrusted   = 60
	curlNoRoots     = 77
)

const (
	// curlAgent names the version whose messages are written.
	curlAgent = "curl/8.14.1"
	// curlTimeout is the time for which it waits for a connection by default.
	curlTimeout = 300 * time.Second
	// maxCurlRetries bounds --retry.
	maxCurlRetries = 1000
)

// curling is one run of curl.
type curling struct {
	*proc
	flags         map[byte]string
	headers, data []string
	urls          []string
	began         time.Time
	// limit is --max-time; 0: there is none.
	limit time.Duration
	// last is the report that -w shows.
	last curlReport
	redirection
}

// curlReport has the known values of the last transfer.
type curlReport struct {
	status                  int
	address                 string
	port                    uint16
	size                    int
	url, message            string
	contentType             string
	connected, named, total time.Duration
	code                    int
	redirects, connections  int
	method                  string
	// untrusted is the result of the check of a certificate, in OpenSSL's numbers.
	untrusted int
	redirect  string
}

// curl is a program of its own, with the options that scripts use.
func curl(ctx context.Context, p *proc) int {
	if p.machine.Network == nil {
		return foreign(ctx, p)
	}
	c := &curling{proc: p, began: p.machine.Clock.Now()}
	if code, ok := c.options(); !ok {
		return code
	}
	if len(c.urls) == 0 {
		return c.report(curlNoURL, "no URL specified")
	}
	code := 0
	for _, text := range c.allURLs(&code) {
		code = c.transfer(ctx, text)
		if format, ok := c.flags['w']; ok && ctx.Err() == nil {
			c.last.code, c.last.total = code, c.machine.Clock.Since(c.began)
			_, _ = c.out.Write([]byte(c.last.format(format)))
		}
	}
	return code
}

// allURLs returns the URLs that the arguments stand for, up to one that stands for none, whose code it sets.
func (c *curling) allURLs(code *int) []string {
	if has(c.flags, 'g') {
		return c.urls
	}
	var all []string
	for _, text := range c.urls {
		some, err := globbed(text)
		if err != nil {
			*code = c.report(curlMalformed, "%v", err)
			return nil
		}
		all = append(all, some...)
	}
	return all
}

// options reads the arguments. Not ok: an option is not known, and code is the program's.
func (c *curling) options() (code int, ok bool) {
	args := c.args[1:]
	for long, short := range map[string]string{"--header": "-H", "--data": "-d", "--data-raw": "-d", "--data-ascii": "-d", "--data-binary": "-d", "--data-urlencode": "-d"} {
		for i, arg := range args {
			if value, given := strings.CutPrefix(arg, long+"="); given {
				args[i] = short + value
			} else if arg == long {
				args[i] = short
			}
		}
	}
	var rest []string
	for i := 0; i < len(args); i++ {
		arg := args[i]
		isHeader, isData := strings.HasPrefix(arg, "-H"), strings.HasPrefix(arg, "-d")
		if !isHeader && !isData {
			rest = append(rest, arg)
			continue
		}
		value := arg[2:]
		if value == "" && i+1 < len(args) {
			i++
			value = args[i]
		}
		if isHeader {
			c.headers = append(c.headers, value)
		} else {
			c.data = append(c.data, value)
		}
	}
	flags, urls, other := options(rest, "qsSfkLiIvgNG46OR#\x06\x07", "omwXuAebcxT\x01\x02\x03\x04\x05", longOptions("curl"))
	if other != "" {
		return c.unsupported(other), false
	}
	if flags['x'] != "" {
		return c.unsupported("-x"), false // without a proxy, it would be another request
	}
	c.flags, c.urls = flags, urls
	for _, option := range []struct {
		flag byte
		name string
	}{{'m', "-m"}, {'\x01', "--connect-timeout"}, {'\x02', "--retry"}, {'\x03', "--retry-delay"}, {'\x05', "--max-redirs"}} {
		text, given := flags[option.flag]
		if _, err := strconv.ParseFloat(text, 64); given && err != nil {
			why := "expected a proper numerical parameter"
			if text == "" || text == "set" { // without a value
				why = "requires parameter"
			}
			_, _ = fmt.Fprintf(c.err, "curl: option %s: %s\ncurl: try 'curl --help' or 'curl --manual' for more information\n", option.name, why)
			return curlNoURL, false
		}
	}
	if text, given := flags['m']; given {
		c.limit = seconds(text)
	}
	return 0, true
}

// seconds reads a number of seconds, which may have a fraction; 0 if it is none.
func seconds(text string) time.Duration {
	n, err := strconv.ParseFloat(text, 64)
	if err != nil || n <= 0 || n > 1e9 {
		return 0
	}
	return time.Duration(n * float64(time.Second))
}

// report writes an error, unless -s without -S silences it, and returns its code.
func (c *curling) report(code int, format string, args ...any) int {
	c.last.message = fmt.Sprintf(format, args...)
	if !has(c.flags, 's') || has(c.flags, 'S') {
		_, _ = fmt.Fprintf(c.err, "curl: (%d) %s\n", code, c.last.message)
	}
	return code
}

// transfer gets one URL, and tries again as --retry says.
func (c *curling) transfer(ctx context.Context, text string) int {
	c.last, c.redirection = curlReport{url: text}, redirection{}
	if scheme, _, ok := strings.Cut(text, "://"); ok && strings.Trim(strings.ToLower(scheme), "abcdefghijklmnopqrstuvwxyz0123456789+-.") == "" && scheme != "" && !isScheme(scheme) {
		return c.report(curlUnsupported, "Protocol %q not supported", scheme)
	}
	l, err := parseCurlLink(text)
	switch {
	case err != nil:
		return c.report(curlMalformed, "%v", err)
	case l.Scheme != "http" && l.Scheme != "https" && l.Scheme != "telnet":
		return c.report(curlUnsupported, "Protocol %q not supported", l.Scheme)
	}
	c.last.url = l.String()
	retries, _ := strconv.Atoi(c.flags['\x02'])
	retries = min(retries, maxCurlRetries)
	pause := time.Second
	for {
		code, transient := c.once(ctx, l)
		if c.next != nil {
			if l, code = c.redirected(l); l == nil {
				return code
			}
			continue
		}
		if !transient || retries <= 0 || ctx.Err() != nil {
			return code
		}
		retries--
		wait := pause
		if given, ok := c.flags['\x03']; ok {
			wait = cmp.Or(seconds(given), wait)
		} else {
			pause = min(2*pause, 10*time.Minute)
		}
		if c.sleep(ctx, wait) != nil {
			return exitInterrupted
		}
	}
}

// once makes one request. transient means that another one may do better.
func (c *curling) once(ctx context.Context, l *link) (code int, transient bool) {
	limit := curlTimeout
	if given, ok := c.flags['\x01']; ok {
		limit = cmp.Or(seconds(given), limit)
	}
	if c.limit > 0 {
		left := c.limit - c.machine.Clock.Since(c.began)
		if left <= 0 {
			return c.report(curlTimedOut, "Operation timed out after %d milliseconds with 0 bytes received", c.limit.Milliseconds()), false
		}
		limit = min(limit, left)
	}
	d, err := c.connect(ctx, dial{host: l.host, port: l.port, limit: limit})
	if err != nil {
		return c.broken(ctx, err), false
	}
	c.last.connected = d.took
	if d.Destination.IsValid() {
		c.last.address, c.last.port = d.Destination.Addr().String(), d.Destination.Port()
	}
	switch o := d.Outcome; {
	case d.established() && l.Scheme == "telnet":
		c.connected(l, d)
		return c.telnet(ctx, d), false
	case d.established():
		return c.exchange(ctx, l, d)
	case o == reach.Unknown:
		if code, ok := c.beyond(ctx, d.Why); ok {
			return code, false
		}
		if !d.Destination.IsValid() {
			return c.report(curlNoHost, "Could not resolve host: %s", l.host), false
		}
	case d.late && o == reach.NoNameServer:
		return c.report(curlTimedOut, "Resolving timed out after %d milliseconds", d.took.Milliseconds()), true
	case d.late:
		return c.report(curlTimedOut, "Connection timed out after %d milliseconds", d.took.Milliseconds()), true
	case o == reach.NoSuchHost, o == reach.NoNameServer, o == reach.ServerFailure:
		return c.report(curlNoHost, "Could not resolve host: %s", l.host), o != reach.NoSuchHost
	case o == reach.TimedOut:
		return c.report(curlTimedOut, "Failed to connect to %s port %d after %d ms: Could not connect to server", l.host, l.port, d.took.Milliseconds()), true
	}
	refused := d.Outcome == reach.Refused && has(c.flags, 'R')
	return c.report(curlNoConnect, "Failed to connect to %s port %d after %d ms: Could not connect to server", l.host, l.port, d.took.Milliseconds()), refused
}

// telnet hands the input to a connection, and the output what comes from there.
func (c *curling) telnet(ctx context.Context, d *dialed) int {
	e, err := c.openTo(ctx, d)
	if err == nil && e == nil {
		return c.converse(ctx, d)
	}
	if err == nil {
		defer e.close(false)
		err = c.dialogue(ctx, e, 0)
	}
	switch {
	case err == nil:
		return 0
	case errors.Is(err, errReset), errors.Is(err, errStalled), errors.Is(err, syscall.ECONNRESET):
		return c.report(curlReceive, "Recv failure: %v", err)
	}
	return c.lost(ctx, err)
}

// prepare returns the request; without one, code is the program's.
func (c *curling) prepare(ctx context.Context, l *link) (r *http.Request, code int) {
	method, body := http.MethodGet, []byte(nil)
	switch {
	case has(c.flags, 'I'):
		method = http.MethodHead
	case has(c.flags, 'G') || c.asGet:
		if c.last.redirects > 0 || len(c.data) == 0 {
			break
		}
		l.RawQuery = strings.Join(append(strings.Fields(l.RawQuery), c.data...), "&")
	case len(c.data) > 0:
		method = http.MethodPost
		sent, ok := c.body(ctx)
		if !ok {
			return nil, curlWriteError + 3 // 26: a file cannot be read
		}
		body = sent
	}
	method = cmp.Or(c.flags['X'], method)
	r, err := l.request(ctx, method, body, cmp.Or(c.flags['A'], curlAgent))
	if err != nil {
		return nil, c.report(curlMalformed, "URL rejected: Malformed input to a URL function")
	}
	r.Header.Set("Accept", "*/*")
	if len(body) > 0 {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	c.identify(l, r)
	return r, 0
}

// exchange sends the request over a connection and writes the answer.
func (c *curling) exchange(ctx context.Context, l *link, d *dialed) (code int, transient bool) {
	r, code := c.prepare(ctx, l)
	if r == nil {
		return code, false
	}
	if l.Scheme == "https" {
		if code := c.trust(ctx, l, d); code != 0 {
			return code, false
		}
	}
	patience := time.Duration(0)
	if c.limit > 0 {
		patience = max(c.limit-c.machine.Clock.Since(c.began), 1)
	}
	c.last.method, c.last.connections = r.Method, c.last.connections+1
	a, err := c.ask(ctx, d, r, patience, func(a *answer) io.Writer { return c.live(ctx, l, d, r, a) })
	switch {
	case errors.Is(err, errLate):
		received := 0
		if a != nil {
			received = a.bytes()
			c.note(a)
		}
		return c.report(curlTimedOut, "Operation timed out after %d milliseconds with %d bytes received", c.limit.Milliseconds(), received), true
	case errors.Is(err, errPartial), errors.Is(err, errReset) && a != nil && a.status != 0:
		c.note(a)
		if a.live == nil {
			_ = c.write(ctx, l, a, headerLines(a, r))
		}
		if errors.Is(err, errReset) {
			return c.report(curlReceive, "Recv failure: %v", err), false
		}
		return c.report(curlPartial, "transfer closed with outstanding read data remaining"), false
	case err != nil && ctx.Err() == nil && a != nil && a.live != nil:
		c.note(a)
		return c.report(curlWriteError, "Failure writing output to destination"), false
	case errors.Is(err, errNoHTTP) && has(c.flags, '\x07') && a != nil: // its body is all that came
		a.err, a.status = nil, 0
		c.note(a)
		return c.write(ctx, l, a, nil), false
	case errors.Is(err, errEmpty):
		return c.report(curlEmptyAnswer, "Empty reply from server"), false
	case errors.Is(err, errReset), errors.Is(err, errStalled):
		return c.report(curlReceive, "Recv failure: %v", err), false
	case err != nil:
		return c.unsafe(ctx, err), false
	}
	c.note(a)
	if a.live != nil {
		return 0, false
	}
	lines := headerLines(a, r)
	c.verbose(l, d, r, lines)
	if c.follows(l, r, a, lines) {
		return 0, false
	}
	transient = a.status == http.StatusRequestTimeout || a.status == http.StatusTooManyRequests || a.status >= http.StatusInternalServerError && a.status <= http.StatusGatewayTimeout
	if has(c.flags, 'f') && a.status >= http.StatusBadRequest {
		return c.report(curlHTTPError, "The requested URL returned error: %d", a.status), transient
	}
	return c.write(ctx, l, a, lines), transient
}

// trust sets how a server's certificate is verified. Without a way to do so, it returns the code of the program.
func (c *curling) trust(ctx context.Context, l *link, d *dialed) int {
	roots, file, err := c.roots(ctx, c.flags['\x04'])
	if insecure := has(c.flags, 'k'); err != nil && !insecure {
		return c.report(curlNoRoots, "error setting certificate file: %s", file)
	} else if roots != nil {
		verify := c.verifier(roots, l.host, d)
		d.verify = func(cert *tls.Certificate) error {
			err := verify(cert)
			var bad *untrusted
			if errors.As(err, &bad) {
				c.last.untrusted = bad.result()
			}
			if insecure {
				return nil
			}
			return err
		}
	}
	return 0
}

// note keeps what -w shows of an answer.
func (c *curling) note(a *answer) {
	c.last.status, c.last.size, c.last.contentType = a.status, a.bytes(), a.header.Get("Content-Type")
}

// live returns where an answer is written that comes in pieces; nil with -f for an error, which is reported at its end.
func (c *curling) live(ctx context.Context, l *link, d *dialed, r *http.Request, a *answer) io.Writer {
	if has(c.flags, 'f') && a.status >= http.StatusBadRequest || a.header.Get("Location") != "" {
		return nil
	}
	a.header.Set("Transfer-Encoding", "chunked")
	lines := headerLines(a, r)
	c.verbose(l, d, r, lines)
	out, failed := c.output(ctx, l, a)
	if failed != 0 {
		return nil
	}
	if has(c.flags, 'i') || has(c.flags, 'I') {
		_, _ = out.Write([]byte(c.shown + strings.Join(lines, "\r\n") + "\r\n\r\n")) // the next one fails, too
	}
	return out
}

// distrust follows the message about a certificate that is not trusted.
const distrust = "\nMore details here: https://curl.se/docs/sslcerts.html\n\ncurl failed to verify the legitimacy of the server and therefore could not\n" +
	"establish a secure connection to it. To learn more about this situation and\nhow to fix it, please visit the webpage mentioned above."

// unsafe reports an error of a handshake, or the end of the program.
func (c *curling) unsafe(ctx context.Context, err error) int {
	var bad *untrusted
	switch {
	case errors.Is(err, errNoHTTP):
		return c.report(curlUnsupported, "Received HTTP/0.9 when not allowed")
	case errors.As(err, &bad):
		return c.report(curlUntrusted, "%s%s", bad.why, distrust)
	case errors.Is(err, secure.ErrPlain):
		return c.report(curlNoTLS, "TLS connect error: error:0A0000C6:SSL routines::packet length too long")
	case errors.Is(err, secure.ErrNoCertificate):
		return c.report(curlNoTLS, "TLS connect error: error:0A000438:SSL routines::tlsv1 alert internal error")
	}
	return c.lost(ctx, err)
}

// body returns the data to send: that of -d, where @FILE is a file.
func (c *curling) body(ctx context.Context) (body []byte, ok bool) {
	for i, text := range c.data {
		if i > 0 {
			body = append(body, '&')
		}
		name, isFile := strings.CutPrefix(text, "@")
		if !isFile {
			body = append(body, text...)
			continue
		}
		data, err := c.readFile(ctx, name)
		if err != nil {
			c.failPath(name, err)
			return nil, false
		}
		body = append(body, data...)
	}
	return body, true
}

// connected writes what -v shows of a connection.
func (c *curling) connected(l *link, d *dialed) {
	if has(c.flags, 'v') {
		_, _ = fmt.Fprintf(c.err, "*   Trying %s...\n* Connected to %s (%s) port %d\n", d.Destination, l.host, d.Destination.Addr(), l.port)
	}
}

// verbose writes what -v shows of a request and its answer.
func (c *curling) verbose(l *link, d *dialed, r *http.Request, lines []string) {
	if !has(c.flags, 'v') {
		return
	}
	c.connected(l, d)
	_, _ = fmt.Fprintf(c.err, "> %s %s HTTP/1.1\n> Host: %s\n", r.Method, r.RequestURI, r.Host)
	for _, name := range []string{"User-Agent", "Accept"} {
		_, _ = fmt.Fprintf(c.err, "> %s: %s\n", name, r.Header.Get(name))
	}
	_, _ = fmt.Fprintf(c.err, "> \n")
	for _, line := range lines {
		_, _ = fmt.Fprintf(c.err, "< %s\n", line)
	}
	_, _ = fmt.Fprintf(c.err, "< \n* Connection #0 to host %s left intact\n", l.host)
}

// write writes the answer to the standard output or a file.
func (c *curling) write(ctx context.Context, l *link, a *answer, lines []string) int {
	out, failed := c.output(ctx, l, a)
	if failed != 0 {
		return failed
	}
	text := a.body
	if has(c.flags, 'i') || has(c.flags, 'I') {
		text = append([]byte(c.shown+strings.Join(lines, "\r\n")+"\r\n\r\n"), text...)
	}
	if _, err := out.Write(text); err != nil {
		return c.report(curlWriteError, "Failure writing output to destination")
	}
	return 0
}

// output returns the standard output or the file for an answer, or the code of the program if there is none.
func (c *curling) output(ctx context.Context, l *link, a *answer) (out io.Writer, code int) {
	name, given := c.flags['o']
	if has(c.flags, 'O') {
		name, given = path.Base(l.Path), true
		if name == "/" || name == "." {
			return nil, c.report(curlWriteError, "Remote file name has no length")
		}
	}
	if !given || name == "-" {
		return c.out, 0
	}
	f, err := c.create(ctx, name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC)
	if err != nil {
		return nil, c.report(curlWriteError, "client returned ERROR on write, %d bytes", a.bytes())
	}
	return f, 0
}

// format returns the text of -w.
func (r *curlReport) format(text string) string {
	second := func(d time.Duration) string { return fmt.Sprintf("%.6f", d.Seconds()) }
	scheme := "http"
	if u, err := url.Parse(r.url); err == nil && u.Scheme != "" {
		scheme = u.Scheme
	}
	version := "1.1"
	if r.status == 0 {
		version = "0"
	}
	values := strings.NewReplacer(
		"%{http_code}", fmt.Sprintf("%03d", r.status), "%{response_code}", fmt.Sprintf("%03d", r.status), "%{remote_ip}", r.address, "%{remote_port}", strconv.Itoa(int(r.port)),
		"%{size_download}", strconv.Itoa(r.size), "%{url_effective}", r.url, "%{url}", r.url, "%{content_type}", r.contentType, "%{exitcode}", strconv.Itoa(r.code), "%{errormsg}", r.message,
		"%{time_total}", second(r.total), "%{time_connect}", second(r.connected), "%{time_namelookup}", second(r.named), "%{time_starttransfer}", second(r.total), "%{num_redirects}", strconv.Itoa(r.redirects), "%{redirect_url}", r.redirect,
		"%{http_version}", version, "%{scheme}", scheme, "%{method}", r.method, "%{num_connects}", strconv.Itoa(r.connections), "%{ssl_verify_result}", strconv.Itoa(r.untrusted),
		"%{proxy_ssl_verify_result}", "0", "%{http_connect}", "000", "%{size_upload}", "0", "%{urlnum}", "0", "%{num_retries}", "0", "%{time_appconnect}", second(0), "%{time_pretransfer}", second(r.connected), "%{time_redirect}", second(0),
		"%%", "%", `\n`, "\n", `\t`, "\t", `\r`, "\r",
	)
	return values.Replace(text)
}
