package box

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"minikcm.dev/minikcm/internal/network/reach"
	"minikcm.dev/minikcm/internal/network/secure"
)

// wgetTimeout is the time for which BusyBox's wget waits by default.
const wgetTimeout = 900 * time.Second

// wget is BusyBox's.
func wget(ctx context.Context, p *proc) int {
	if p.machine.Network == nil {
		return foreign(ctx, p)
	}
	headers, args := repeated(p.args, "--header")
	if p.args = args; p.machine.Unknown {
		for i, arg := range args {
			if arg == "-nv" { // GNU's
				args[i] = "-q"
			}
		}
	}
	flags, urls, ok := p.parse("qcSs_\x01", "OoTtPUYdf")
	if !ok {
		return 1
	}
	if len(urls) == 0 {
		return p.fail("missing URL")
	}
	if text, given := flags['T']; given && !isNumber(text) {
		return p.fail("invalid number '%s'", text)
	}
	for _, text := range urls {
		g := &wgetting{proc: p, flags: flags, headers: headers, log: p.err}
		if has(flags, 'q') {
			g.log = io.Discard
		}
		if code := g.get(ctx, text); code != 0 {
			return code
		}
	}
	return 0
}

// isNumber reports whether a text is a number, which may have a fraction, and a unit of time as for nmap's ncat.
func isNumber(text string) bool {
	_, err := strconv.ParseFloat(strings.TrimRight(text, "msh"), 64)
	return err == nil
}

// repeated takes an option that may be given several times out of the arguments.
func repeated(args []string, option string) (values, rest []string) {
	for i := 0; i < len(args); i++ {
		if value, ok := strings.CutPrefix(args[i], option+"="); ok {
			values = append(values, value)
		} else if args[i] == option && i+1 < len(args) {
			i++
			values = append(values, args[i])
		} else {
			rest = append(rest, args[i])
		}
	}
	return values, rest
}

type wgetting struct {
	*proc
	flags   map[byte]string
	headers []string
	log     io.Writer
}

// maxWgetRedirects is the number of redirects at which BusyBox's wget gives up.
const maxWgetRedirects = 5

func (g *wgetting) get(ctx context.Context, text string) int {
	first, err := g.link(text)
	if err != nil {
		return g.fail("%v", err)
	}
	limit := wgetTimeout
	if given, ok := g.flags['T']; ok {
		limit = cmp.Or(seconds(given), limit)
	}
	l, known := first, ""
	for left := maxWgetRedirects; ; {
		c, err := g.connect(ctx, dial{host: l.host, port: l.port, limit: limit})
		if err != nil {
			return g.broken(ctx, err)
		}
		if code, done := g.failed(ctx, c, l, known != l.Host); done {
			return code
		}
		a, code := g.receive(ctx, c, l, limit)
		if a == nil {
			return code
		}
		location := a.header.Get("Location")
		if a.status < http.StatusMultipleChoices || location == "" {
			return g.keepAnswer(ctx, first, a)
		}
		if left--; left == 0 {
			return g.fail("too many redirections")
		}
		if known = l.Host; strings.HasPrefix(location, "/") {
			location = l.Scheme + "://" + l.Host + location
		}
		if l, err = g.link(location); err != nil {
			return g.fail("%v", err)
		}
	}
}

// link reads a URL. Its error is the message of the program.
func (g *wgetting) link(text string) (*link, error) {
	l, err := parseLink(text)
	switch {
	case err != nil:
		return nil, fmt.Errorf("bad URL: %s", text)
	case l.Scheme != "http" && l.Scheme != "https":
		return nil, fmt.Errorf("not an http or ftp url: %s", text)
	}
	return l, nil
}

// broken returns the code of a program whose connection could not be decided.
func (p *proc) broken(ctx context.Context, err error) int {
	if ctx.Err() != nil || errors.Is(err, errHurried) {
		return exitInterrupted
	}
	return p.fail("%v", err)
}

// failed reports a connection that was not established. announced means that it is one to another host than the last.
func (g *wgetting) failed(ctx context.Context, c *dialed, l *link, announced bool) (code int, done bool) {
	if c.Outcome == reach.Unknown {
		if code, ok := g.beyond(ctx, c.Why); ok {
			return code, true
		}
	}
	switch c.Outcome {
	case reach.NoSuchHost, reach.NoNameServer, reach.ServerFailure:
		return g.fail("bad address '%s'", l.host), true
	case reach.Unknown:
		if !c.Destination.IsValid() {
			return g.fail("bad address '%s'", l.host), true
		}
	}
	if announced {
		_, _ = fmt.Fprintf(g.log, "Connecting to %s (%s)\n", l.Host, c.Destination)
	}
	switch {
	case c.late:
		return g.fail("download timed out"), true
	case c.established():
		return 0, false
	case c.Outcome == reach.Unknown:
		return g.fail("can't connect to remote host (%s): Network is unreachable", c.Destination.Addr()), true
	}
	return g.fail("can't connect to remote host (%s): %s", c.Destination.Addr(), c.Outcome.Error()), true
}

// receive sends the request. Without an answer that is a success or a redirect, code is the program's.
func (g *wgetting) receive(ctx context.Context, c *dialed, l *link, limit time.Duration) (a *answer, code int) {
	method, data := http.MethodGet, []byte(nil)
	switch {
	case has(g.flags, 'd'):
		method, data = http.MethodPost, []byte(g.flags['d'])
	case has(g.flags, 'f'):
		body, err := g.readFile(ctx, g.flags['f'])
		if err != nil {
			return nil, g.failPath(g.flags['f'], err)
		}
		method, data = http.MethodPost, body
	case has(g.flags, 's'):
		method = http.MethodHead
	}
	agent := "Wget"
	if given, ok := g.flags['U']; ok {
		agent = given
	}
	r, err := l.request(ctx, method, data, agent)
	if err != nil {
		return nil, g.fail("bad URL: %s", l)
	}
	if method == http.MethodPost {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	replaceHeaders(r, g.headers)
	if l.Scheme == "https" && !has(g.flags, '\x01') {
		g.fail("note: TLS certificate validation not implemented")
	}
	a, err = g.ask(ctx, c, r, limit, g.live)
	if err != nil {
		return nil, g.unanswered(ctx, err)
	}
	if a.live != nil {
		return nil, 0
	}
	if has(g.flags, 'S') {
		for _, line := range headerLines(a, r) {
			_, _ = fmt.Fprintf(g.log, "  %s\n", line)
		}
		if a.status < http.StatusMultipleChoices {
			_, _ = fmt.Fprintf(g.log, "  \n")
		}
	}
	switch a.status {
	case http.StatusMultipleChoices, http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
		return a, 0
	}
	if a.status >= http.StatusMultipleChoices || a.status < http.StatusOK {
		return nil, g.fail("server returned error: HTTP/1.1 %d %s", a.status, http.StatusText(a.status))
	}
	return a, 0
}

// keepAnswer saves an answer, or says that there is one. The file has the name of the first URL.
func (g *wgetting) keepAnswer(ctx context.Context, first *link, a *answer) int {
	if has(g.flags, 's') {
		_, _ = fmt.Fprintf(g.log, "remote file exists\n")
		return 0
	}
	return g.save(ctx, first, a)
}

// live returns where an answer is written that comes in pieces; nil: it is kept until its end.
func (g *wgetting) live(a *answer) io.Writer {
	if g.flags['O'] != "-" || a.status != http.StatusOK {
		return nil
	}
	_, _ = fmt.Fprintf(g.log, "writing to stdout\n")
	return g.out
}

// unanswered reports why a request has no answer.
func (g *wgetting) unanswered(ctx context.Context, err error) int {
	switch {
	case errors.Is(err, errLate):
		return g.fail("download timed out")
	case errors.Is(err, errEmpty), errors.Is(err, errNoHTTP):
		return g.fail("error getting response")
	case errors.Is(err, errReset), errors.Is(err, errStalled):
		return g.fail("error getting response: %v", err)
	case errors.Is(err, secure.ErrPlain):
		g.fail("got bad TLS record (len:%d) while expecting handshake record\n% x", len(badRequest), badRequest)
		return g.fail("error getting response: %v", errReset)
	case errors.Is(err, secure.ErrNoCertificate):
		g.fail("TLS error from peer (alert code 80): 80")
		return g.fail("error getting response: %v", errReset)
	}
	return g.lost(ctx, err)
}

// lost returns the code of a program that ends while it waits for an answer.
func (p *proc) lost(ctx context.Context, err error) int {
	if ctx.Err() != nil || errors.Is(err, errHurried) {
		return exitInterrupted
	}
	return exitKilled
}

// save writes the answer's body to the standard output or a file.
func (g *wgetting) save(ctx context.Context, l *link, a *answer) int {
	name, given := g.flags['O']
	if !given {
		name = path.Join(g.flags['P'], l.file("index.html"))
	}
	if name == "-" {
		_, _ = fmt.Fprintf(g.log, "writing to stdout\n")
		if _, err := g.out.Write(a.body); err != nil {
			return 1
		}
		g.meter("-", a)
		_, _ = fmt.Fprintf(g.log, "written to stdout\n")
		return 0
	}
	flag := os.O_WRONLY | os.O_CREATE | os.O_TRUNC
	if !given && !has(g.flags, 'c') {
		flag |= os.O_EXCL
	}
	f, err := g.create(ctx, name, flag)
	if err != nil {
		return g.fail("can't open '%s': %s", name, reason(err))
	}
	_, _ = fmt.Fprintf(g.log, "saving to '%s'\n", name)
	if _, err := f.Write(a.body); err != nil {
		return g.fail("write error: %s", reason(err))
	}
	g.meter(path.Base(name), a)
	_, _ = fmt.Fprintf(g.log, "'%s' saved\n", name)
	return 0
}

// meter writes the progress of a download that is complete.
func (g *wgetting) meter(name string, a *answer) {
	size := fmt.Sprintf("%6d", a.bytes())
	if len(size) > 6 {
		size = fmt.Sprintf("%5dk", a.bytes()/1024)
	}
	_, _ = fmt.Fprintf(g.log, "%-20.20s 100%% |%s|%s  0:00:00 ETA\n", name, strings.Repeat("*", 32), size)
}

// headerLines returns the status line and the headers of an answer, sorted.
func headerLines(a *answer, r *http.Request) []string {
	lines := []string{fmt.Sprintf("HTTP/1.1 %d %s", a.status, http.StatusText(a.status))}
	if bodiless(a.status) {
		a.header.Del("Content-Length")
	} else if a.header.Get("Content-Length") == "" && r.Method != http.MethodHead {
		a.header.Set("Content-Length", strconv.Itoa(a.bytes()))
	}
	var names []string
	for name := range a.header {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		for _, value := range a.header[name] {
			lines = append(lines, name+": "+value)
		}
	}
	return lines
}
