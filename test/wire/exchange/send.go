package exchange

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"time"
)

// Server is an API server to send requests to.
type Server struct {
	// URL is https://host:port.
	URL   string
	Token string

	client http.Client
	// host matches the address of the server, which may be another one of the machine on the same port.
	host *regexp.Regexp
}

// maxAnswer limits the bytes that are read of an answer, requestTime the time for it.
const (
	maxAnswer   = 64 << 20
	requestTime = 30 * time.Second
)

// NewServer returns the server at an address and port, whose certificate is not checked.
func NewServer(url, token string) *Server {
	transport := &http.Transport{
		TLSClientConfig:     &tls.Config{InsecureSkipVerify: true}, // a server of this machine that was just started
		DisableCompression:  true,
		MaxIdleConnsPerHost: 64,
	}
	host := regexp.MustCompile(`\b[0-9]+\.[0-9]+\.[0-9]+\.[0-9]+:` + regexp.QuoteMeta(url[strings.LastIndex(url, ":")+1:]) + `\b`)
	return &Server{URL: url, Token: token, host: host, client: http.Client{
		Transport:     transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// answer is a server's answer, with the body decompressed.
type answer struct {
	status int
	header http.Header
	body   []byte
	// err is set if there is no answer, or not all of it.
	err error
}

// Get returns the answer to a request that is not part of the comparison.
func (s *Server) Get(ctx context.Context, path, accept string) ([]byte, error) {
	got := s.send(ctx, http.MethodGet, path, "", map[string]string{"Accept": accept})
	if got.err == nil && got.status != http.StatusOK {
		return nil, fmt.Errorf("%s%s: status %d: %.500s", s.URL, path, got.status, got.body)
	}
	return got.body, got.err
}

func (s *Server) send(ctx context.Context, method, path, body string, header map[string]string) (got answer) {
	ctx, cancel := context.WithTimeout(ctx, requestTime)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, method, s.URL+path, strings.NewReader(body))
	if err != nil {
		return answer{err: err}
	}
	request.Header.Set("Authorization", "Bearer "+s.Token)
	request.Header.Set("User-Agent", "wire/1.0")
	for name, value := range header {
		request.Header.Set(name, value)
	}
	response, err := s.client.Do(request)
	if err != nil {
		return answer{err: err}
	}
	defer response.Body.Close()
	got = answer{status: response.StatusCode, header: response.Header}
	got.body, got.err = io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	if response.Header.Get("Content-Encoding") == "gzip" && len(got.body) > 0 {
		unpacked, err := gzip.NewReader(bytes.NewReader(got.body))
		if err != nil {
			got.err = err
			return got
		}
		got.body, got.err = io.ReadAll(io.LimitReader(unpacked, maxAnswer))
	}
	return got
}
