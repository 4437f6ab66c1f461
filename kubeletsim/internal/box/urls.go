package box

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"path"
	"strconv"
	"strings"
)

// link is the URL of a request.
type link struct {
	*url.URL
	host string
	port int32
}

// parseLink reads a URL as wget and curl do: without a scheme, it is one of HTTP.
func parseLink(text string) (*link, error) {
	if i := strings.Index(text, "://"); i < 0 || i+1 != strings.IndexAny(text, "/?#") {
		text = "http://" + text
	}
	u, err := url.Parse(text)
	if err != nil {
		return nil, err
	}
	l := &link{URL: u, host: u.Hostname()}
	if l.host == "" {
		return nil, fmt.Errorf("%q has no host", text)
	}
	l.port = 80
	switch u.Scheme {
	case "https":
		l.port = 443
	case "telnet":
		l.port = 23
	}
	if given := u.Port(); given != "" {
		n, err := strconv.ParseUint(given, 10, 16)
		if err != nil {
			return nil, err
		}
		l.port = int32(n)
	}
	if u.Path == "" {
		u.Path = "/"
	}
	return l, nil
}

// request returns a request for the URL.
func (l *link) request(ctx context.Context, method string, body []byte, agent string) (*http.Request, error) {
	r, err := http.NewRequestWithContext(ctx, method, l.String(), bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.RequestURI = r.URL.RequestURI()
	r.Header.Set("User-Agent", agent)
	if name := l.User.Username(); name != "" {
		password, _ := l.User.Password()
		r.SetBasicAuth(name, password)
	}
	return r, nil
}

// file returns the name of the file that the content is saved as.
func (l *link) file(instead string) string {
	if name := path.Base(l.Path); name != "/" && name != "." && !strings.HasSuffix(l.Path, "/") {
		return name
	}
	return instead
}

// replaceHeaders adds headers of the form "Name: value". They take the place of headers that the program sets itself.
func replaceHeaders(r *http.Request, texts []string) {
	for _, text := range texts {
		name, _, _ := strings.Cut(text, ":")
		r.Header.Del(strings.TrimSpace(name))
	}
	for _, text := range texts {
		addHeader(r, text)
	}
}

// addHeader adds a header of the form "Name: value".
func addHeader(r *http.Request, text string) {
	name, value, ok := strings.Cut(text, ":")
	if name = strings.TrimSpace(name); !ok || name == "" {
		return
	}
	value = strings.TrimSpace(value)
	if strings.EqualFold(name, "Host") {
		r.Host = value
		return
	}
	r.Header.Add(name, value)
}
