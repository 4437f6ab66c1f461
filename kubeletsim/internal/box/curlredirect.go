package box

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

const (
	// curlMaxRedirects is the number of redirects that curl follows by default, and maxCurlRedirects bounds --max-redirs.
	curlMaxRedirects = 50
	maxCurlRedirects = 1000
)

// redirection is the state of a transfer that follows redirects.
type redirection struct {
	// next is the URL of the answer that was a redirect; nil: it was none, or is not followed.
	next *url.URL
	// origin is the host of the first URL, which gets the user's credentials.
	origin string
	// asGet means that a redirect has made a GET of the request.
	asGet bool
	// shown has the headers of the redirects, for -i.
	shown string
}

// follows reports whether an answer is a redirect that is followed, and keeps where it leads.
func (c *curling) follows(l *link, r *http.Request, a *answer, lines []string) bool {
	location := a.header.Get("Location")
	if location == "" || a.status < http.StatusMultipleChoices || a.status >= http.StatusBadRequest {
		return false
	}
	to, err := l.Parse(location)
	if err != nil {
		return false
	}
	if !c.has("location") && !c.has("location-trusted") {
		c.last.redirect = to.String()
		return false
	}
	c.next = to
	isPost := len(c.data)+len(c.form) > 0 && !c.has("get")
	moved := a.status == http.StatusMovedPermanently || a.status == http.StatusFound
	c.asGet = c.asGet || isPost && moved || a.status == http.StatusSeeOther && r.Method != http.MethodHead
	c.shown += strings.Join(lines, "\r\n") + "\r\n\r\n"
	return true
}

// redirected returns the URL to ask next; nil with the code of the program if there is none.
func (c *curling) redirected(from *link) (l *link, code int) {
	to := c.next
	c.next = nil
	limit := curlMaxRedirects
	if given, err := strconv.Atoi(c.flags["max-redirs"]); err == nil {
		if limit = min(given, maxCurlRedirects); given < 0 {
			limit = maxCurlRedirects
		}
	}
	if c.last.redirects >= limit {
		return nil, c.report(curlRedirects, "Maximum (%d) redirects followed", limit)
	}
	if to.Scheme == "telnet" {
		return nil, c.report(curlUnsupported, "Protocol %q disabled in redirect", to.Scheme)
	}
	if to.Scheme != "http" && to.Scheme != "https" {
		return nil, c.report(curlUnsupported, "The redirect target URL could not be parsed: Unsupported URL scheme")
	}
	l, err := parseLink(to.String())
	if err != nil {
		return nil, c.report(curlMalformed, "The redirect target URL could not be parsed: Malformed input to a URL function")
	}
	if c.origin == "" {
		c.origin = from.Host
	}
	c.last.redirects++
	c.last.redirecting = c.machine.Clock.Since(c.began)
	c.last.url = l.String()
	return l, 0
}

// identify adds the headers of the command line. Another host than the first gets no credentials, unless --location-trusted says so.
func (c *curling) identify(l *link, r *http.Request) {
	trusted := c.origin == "" || c.origin == l.Host || c.has("location-trusted")
	if name, password, ok := strings.Cut(c.flags["user"], ":"); ok && trusted {
		r.SetBasicAuth(name, password)
	}
	if trusted {
		var all []string
		for _, text := range c.cookies {
			if strings.Contains(text, "=") { // otherwise it is a file
				all = append(all, text)
			}
		}
		if len(all) > 0 {
			r.Header.Set("Cookie", strings.Join(all, ";"))
		}
	}
	var given []string
	for _, header := range c.headers {
		name, value, valued := strings.Cut(header, ":")
		name = strings.TrimSpace(name)
		if !trusted && (strings.EqualFold(name, "Authorization") || strings.EqualFold(name, "Cookie") || strings.EqualFold(name, "Host")) {
			continue
		}
		empty, isEmpty := strings.CutSuffix(name, ";")
		switch {
		case valued && strings.TrimSpace(value) != "":
			given = append(given, header)
		case valued: // without a value, it is left out
			r.Header.Del(name)
		case isEmpty: // X; is sent without a value
			given = append(given, empty+":")
		}
	}
	replaceHeaders(r, given)
}
