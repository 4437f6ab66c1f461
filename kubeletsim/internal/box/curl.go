package box

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"path"
	"slices"
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
	// flags has the last value of each option, by its long name. Options that count each time have lists, too.
	flags                                               map[string]string
	urls, headers, cookies, query, resolves, connectTos []string
	data, form                                          []curlData
	outputs                                             []curlOutput
	// other is the first option that is not simulated; empty: all are.
	other string
	// sent is the data of -d and its like, and read means that it has been read.
	sent []byte
	read bool
	// dumped means that -D has begun its file.
	dumped bool
	began  time.Time
	// limit is --max-time; 0: there is none.
	limit time.Duration
	// last is the report that -w shows.
	last curlReport
	redirection
}

// curlOutput says where the answer of one URL is written: to the file of -o, or with -O to a file with the name in the URL. The first
// output is for the first URL, and so on.
type curlOutput struct {
	name   string
	remote bool
}

// curlTarget is a URL to get, with the number of the argument that it comes from.
type curlTarget struct {
	url    string
	number int
}

// curl is a program of its own, with the options that scripts use.
func curl(ctx context.Context, p *proc) int {
	if p.machine.Network == nil {
		return foreign(ctx, p)
	}
	c := &curling{proc: p}
	if code, ok := c.options(); !ok {
		return code
	}
	if len(c.urls) == 0 {
		return c.report(curlNoURL, "no URL specified")
	}
	code := 0
	for _, to := range c.allURLs(&code) {
		c.began = p.machine.Clock.Now()
		c.last, c.redirection = curlReport{url: to.url, given: to.url, number: to.number}, redirection{}
		code = c.transfer(ctx, to.url)
		if ctx.Err() == nil {
			c.last.code, c.last.total = code, c.machine.Clock.Since(c.began)
			c.writeOut(ctx)
		}
	}
	return code
}

// allURLs returns the URLs that the arguments stand for, up to one that stands for none, whose code it sets.
func (c *curling) allURLs(code *int) []curlTarget {
	var all []curlTarget
	for i, text := range c.urls {
		some, err := []string{text}, error(nil)
		if !c.has("globoff") {
			some, err = globbed(text)
		}
		if err != nil {
			*code = c.report(curlMalformed, "%v", err)
			return nil
		}
		for _, one := range some {
			all = append(all, curlTarget{one, i})
		}
	}
	return all
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
	if !c.has("silent") || c.has("show-error") {
		_, _ = fmt.Fprintf(c.err, "curl: (%d) %s\n", code, c.last.message)
	}
	return code
}

// transfer gets one URL, and tries again as --retry says.
func (c *curling) transfer(ctx context.Context, text string) int {
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
	retries, _ := strconv.Atoi(c.flags["retry"])
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
		if given, ok := c.flags["retry-delay"]; ok {
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
	if given, ok := c.flags["connect-timeout"]; ok {
		limit = cmp.Or(seconds(given), limit)
	}
	if c.limit > 0 {
		left := c.limit - c.machine.Clock.Since(c.began)
		if left <= 0 {
			return c.report(curlTimedOut, "Operation timed out after %d milliseconds with 0 bytes received", c.limit.Milliseconds()), false
		}
		limit = min(limit, left)
	}
	host, address, port, code := c.route(l)
	if code != 0 {
		return code, false
	}
	before := c.machine.Clock.Since(c.began)
	d, err := c.connect(ctx, dial{host: address, port: port, limit: limit})
	if err != nil {
		return c.broken(ctx, err), false
	}
	d.host, c.last.secured = l.host, 0
	if c.last.connected = before + d.took; d.Resolution != nil {
		c.last.named = before + networkDelay + d.Lookup
	} else {
		c.last.named = before
	}
	c.last.asked = c.last.connected
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
			return c.report(curlNoHost, "Could not resolve host: %s", host), false
		}
	case d.late && o == reach.NoNameServer:
		return c.report(curlTimedOut, "Resolving timed out after %d milliseconds", d.took.Milliseconds()), true
	case d.late:
		return c.report(curlTimedOut, "Connection timed out after %d milliseconds", d.took.Milliseconds()), true
	case o == reach.NoSuchHost, o == reach.NoNameServer, o == reach.ServerFailure:
		return c.report(curlNoHost, "Could not resolve host: %s", host), o != reach.NoSuchHost
	case o == reach.TimedOut:
		return c.report(curlTimedOut, "Failed to connect to %s port %d after %d ms: Could not connect to server", host, port, d.took.Milliseconds()), true
	}
	refused := d.Outcome == reach.Refused && c.has("retry-connrefused")
	return c.report(curlNoConnect, "Failed to connect to %s port %d after %d ms: Could not connect to server", host, port, d.took.Milliseconds()), refused
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
	c.sending(d, r)
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
	case errors.Is(err, errNoHTTP) && c.has("http0.9") && a != nil: // its body is all that came
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
	if !d.secured.IsZero() {
		c.last.secured = d.secured.Sub(c.began)
		c.last.asked = c.last.secured
	}
	if a.live != nil {
		return 0, false
	}
	c.last.begun = max(d.begun.Sub(c.began), c.last.asked)
	lines := headerLines(a, r)
	c.verbose(l, d, r, lines)
	if code := c.dump(ctx, a, lines); code != 0 {
		return code, false
	}
	if c.follows(l, r, a, lines) {
		return 0, false
	}
	transient = a.status == http.StatusRequestTimeout || a.status == http.StatusTooManyRequests || a.status >= http.StatusInternalServerError && a.status <= http.StatusGatewayTimeout
	if c.has("fail") && a.status >= http.StatusBadRequest {
		return c.report(curlHTTPError, "The requested URL returned error: %d", a.status), transient
	}
	return c.write(ctx, l, a, lines), transient
}

// sending notes what -w shows of a request.
func (c *curling) sending(d *dialed, r *http.Request) {
	c.last.method, c.last.connects = r.Method, c.last.connects+1
	own := c.sourceOf(d, r.Host)
	c.last.own, c.last.ownPort = own.Addr().String(), own.Port()
	c.last.sent = int(r.ContentLength)
	size := len(r.Method + " " + r.RequestURI + " HTTP/1.1\r\nHost: " + r.Host + "\r\n\r\n")
	if r.ContentLength > 0 {
		size += len("Content-Length: \r\n"+strconv.Itoa(c.last.sent)) + c.last.sent
	}
	for name, values := range r.Header {
		for _, value := range values {
			size += len(name + ": " + value + "\r\n")
		}
	}
	c.last.requestBytes += size
}

// dump writes the headers of an answer to the file of -D, or returns the code of the program.
func (c *curling) dump(ctx context.Context, a *answer, lines []string) int {
	text := strings.Join(lines, "\r\n") + "\r\n\r\n"
	c.last.header, c.last.headers, c.last.headerBytes = a.header, len(lines)-1, c.last.headerBytes+len(text)
	name, given := c.flags["dump-header"]
	if !given {
		return 0
	}
	out, flag := c.out, os.O_WRONLY|os.O_CREATE|os.O_TRUNC
	if c.dumped {
		flag = os.O_WRONLY | os.O_CREATE | os.O_APPEND
	}
	if name != "-" {
		f, err := c.create(ctx, name, flag)
		if err != nil {
			_, _ = fmt.Fprintf(c.err, "curl: Failed to open %s\n", name)
			return curlWriteError
		}
		out = f
	}
	c.dumped = true
	if _, err := out.Write([]byte(text)); err != nil {
		return c.report(curlWriteError, "Failure writing output to destination")
	}
	return 0
}

// trust sets how a server's certificate is verified. Without a way to do so, it returns the code of the program.
func (c *curling) trust(ctx context.Context, l *link, d *dialed) int {
	roots, file, err := c.roots(ctx, c.flags["cacert"])
	if insecure := c.has("insecure"); err != nil && !insecure {
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
	if c.has("fail") && a.status >= http.StatusBadRequest || a.header.Get("Location") != "" {
		return nil
	}
	a.header.Set("Transfer-Encoding", "chunked")
	lines := headerLines(a, r)
	c.verbose(l, d, r, lines)
	c.last.begun = c.machine.Clock.Since(c.began)
	if c.dump(ctx, a, lines) != 0 {
		return nil
	}
	out, failed := c.output(ctx, l, a)
	if failed != 0 {
		return nil
	}
	if c.has("include") || c.has("head") {
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

// connected writes what -v shows of a connection.
func (c *curling) connected(l *link, d *dialed) {
	if c.has("verbose") {
		_, _ = fmt.Fprintf(c.err, "*   Trying %s...\n* Connected to %s (%s) port %d\n", d.Destination, l.host, d.Destination.Addr(), l.port)
	}
}

// sentOrder returns the names of a request's headers in the order in which curl sends them: its own, what -H adds, by name, and the
// description of the body.
func sentOrder(h http.Header) []string {
	rank := func(name string) int {
		if i := slices.Index([]string{"Authorization", "Range", "User-Agent", "Accept", "Referer", "Cookie", "", "Content-Length", "Content-Type"}, name); i >= 0 {
			return i
		}
		return 6
	}
	return slices.SortedFunc(maps.Keys(h), func(a, b string) int { return cmp.Or(rank(a)-rank(b), strings.Compare(a, b)) })
}

// verbose writes what -v shows of a request and its answer.
func (c *curling) verbose(l *link, d *dialed, r *http.Request, lines []string) {
	if !c.has("verbose") {
		return
	}
	c.connected(l, d)
	_, _ = fmt.Fprintf(c.err, "> %s %s HTTP/1.1\n> Host: %s\n", r.Method, r.RequestURI, r.Host)
	for _, name := range sentOrder(r.Header) {
		for _, value := range r.Header[name] {
			_, _ = fmt.Fprintf(c.err, "> %s: %s\n", name, value)
		}
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
	if c.has("include") || c.has("head") {
		text = append([]byte(c.shown+strings.Join(lines, "\r\n")+"\r\n\r\n"), text...)
	}
	if _, err := out.Write(text); err != nil {
		return c.report(curlWriteError, "Failure writing output to destination")
	}
	return 0
}

// output returns the standard output or the file for an answer, or the code of the program if there is none.
func (c *curling) output(ctx context.Context, l *link, a *answer) (out io.Writer, code int) {
	if c.last.number >= len(c.outputs) || c.outputs[c.last.number].name == "-" {
		return c.out, 0
	}
	name := c.outputs[c.last.number].name
	if c.outputs[c.last.number].remote {
		if name = path.Base(l.Path); name == "/" || name == "." {
			return nil, c.report(curlWriteError, "Remote file name has no length")
		}
	}
	c.last.file = name
	if c.has("create-dirs") {
		_ = c.machine.Files.MkdirAll(path.Dir(c.path(name)), 0o750) // creating the file fails, too
	}
	f, err := c.create(ctx, name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC)
	if err != nil {
		return nil, c.report(curlWriteError, "client returned ERROR on write, %d bytes", a.bytes())
	}
	return f, 0
}
