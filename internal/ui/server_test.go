package ui

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strings"
	"testing"

	"golang.org/x/net/websocket"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"minikcm.dev/minikcm"
	"minikcm.dev/minikcm/minikcmtest"
)

// browser makes requests as a browser with one session.
type browser struct {
	t      *testing.T
	page   *Server
	client *http.Client
}

// newPage returns the page of a new cluster without nodes.
func newPage(t *testing.T) (*minikcmtest.Cluster, *Server) {
	t.Helper()
	page, err := Listen(t.Context(), Options{StyleSources: []string{"'sha256-abc='"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(page.Close)
	return minikcmtest.New(t, minikcmtest.WithNodes(0), minikcmtest.WithControllers("-*"), minikcmtest.WithOptions(func(o *minikcm.Options) {
		o.API.NoHTTPS = false
		o.API.Extensions = []minikcm.Extension{page.Extension()}
	})), page
}

func newBrowser(t *testing.T, page *Server) *browser {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	return &browser{t: t, page: page, client: &http.Client{Jar: jar, Transport: transport}}
}

func (b *browser) open() *browser {
	b.t.Helper()
	if code, _, body := b.do(http.MethodGet, b.page.Link(), nil, ""); code != http.StatusOK {
		b.t.Fatalf("the link is answered with %d: %s", code, body)
	}
	return b
}

// do makes a request for a URL, or for a path of the page.
func (b *browser) do(method, at string, headers map[string]string, body string) (code int, header http.Header, answer string) {
	b.t.Helper()
	if strings.HasPrefix(at, "/") {
		at = b.origin() + at
	}
	r, err := http.NewRequestWithContext(b.t.Context(), method, at, strings.NewReader(body))
	if err != nil {
		b.t.Fatal(err)
	}
	for name, value := range headers {
		if r.Header.Set(name, value); name == "Host" {
			r.Host = value
		}
	}
	resp, err := b.client.Do(r)
	if err != nil {
		b.t.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		b.t.Fatal(err)
	}
	return resp.StatusCode, resp.Header, string(data)
}

func (b *browser) origin() string { return "http://" + b.page.Address() }

const namespaces = clusterPath + "/api/v1/namespaces"

// A link opens one session, whose cookie other sites' requests do not carry.
func TestLink(t *testing.T) {
	t.Parallel()
	_, page := newPage(t)
	link := page.Link()
	b := newBrowser(t, page)
	code, header, body := b.do(http.MethodGet, link, nil, "")
	cookie := header.Get("Set-Cookie")
	if code != http.StatusOK || !strings.Contains(body, `content="0;url=/ui/"`) {
		t.Errorf("the link is answered with %d: %s", code, body)
	}
	for _, attribute := range []string{"; Path=/ui/", "; HttpOnly", "; SameSite=Strict"} {
		if !strings.Contains(cookie, attribute) {
			t.Errorf("the cookie is %s, without %s", cookie, attribute)
		}
	}
	if code, _, body := b.do(http.MethodGet, namespaces, map[string]string{pageHeader: "1"}, ""); code != http.StatusOK || !strings.Contains(body, `"NamespaceList"`) {
		t.Errorf("in the session, namespaces are answered with %d: %s", code, body)
	}
	// The same browser may open its link again; another one may not.
	if code, _, _ := b.do(http.MethodGet, link, nil, ""); code != http.StatusOK {
		t.Errorf("in its session, a used link is answered with %d", code)
	}
	other := newBrowser(t, page)
	if code, header, body := other.do(http.MethodGet, link, nil, ""); code != http.StatusForbidden || header.Get("Set-Cookie") != "" || !strings.Contains(body, "minikcm ui") {
		t.Errorf("a used link is answered with %d: %s", code, body)
	}
	if code, _, body := other.do(http.MethodGet, namespaces, map[string]string{pageHeader: "1"}, ""); code != http.StatusUnauthorized || !strings.Contains(body, "no session") {
		t.Errorf("without a session, namespaces are answered with %d: %s", code, body)
	}
}

// Requests that the page did not make, and those for other host names, are refused.
func TestForeignRequests(t *testing.T) {
	t.Parallel()
	_, page := newPage(t)
	b := newBrowser(t, page).open()
	_, port, _ := strings.Cut(page.Address(), ":")
	own := b.origin()
	const made = `{"apiVersion":"v1","kind":"Namespace","metadata":{"generateName":"made-"}}`
	for name, test := range map[string]struct {
		method  string
		headers map[string]string
		want    int
	}{
		"read by the page":              {"GET", map[string]string{pageHeader: "1", "Sec-Fetch-Site": "same-origin"}, 200},
		"read as localhost":             {"GET", map[string]string{pageHeader: "1", "Host": "LOCALHOST:" + port, "Cookie": "KEY"}, 200},
		"read without the header":       {"GET", nil, 403},
		"read by another site":          {"GET", map[string]string{pageHeader: "1", "Sec-Fetch-Site": "cross-site"}, 403},
		"read by another port":          {"GET", map[string]string{pageHeader: "1", "Sec-Fetch-Site": "same-site", "Origin": "http://127.0.0.1:1"}, 403},
		"read by another origin":        {"GET", map[string]string{pageHeader: "1", "Origin": "http://evil.example"}, 403},
		"read at a rebound name":        {"GET", map[string]string{pageHeader: "1", "Host": "evil.example:" + port}, 421},
		"read at another port":          {"GET", map[string]string{pageHeader: "1", "Host": "127.0.0.1:1"}, 421},
		"read at no port":               {"GET", map[string]string{pageHeader: "1", "Host": "127.0.0.1"}, 421},
		"write by the page":             {"POST", map[string]string{pageHeader: "1", "Origin": own, "Content-Type": "application/json"}, 201},
		"write without an origin":       {"POST", map[string]string{pageHeader: "1", "Content-Type": "application/json"}, 403},
		"write by a form":               {"POST", map[string]string{"Origin": own, "Content-Type": "text/plain"}, 403},
		"write by another origin":       {"POST", map[string]string{pageHeader: "1", "Origin": "http://evil.example", "Content-Type": "application/json"}, 403},
		"write by a sandboxed page":     {"POST", map[string]string{pageHeader: "1", "Origin": "null", "Content-Type": "application/json"}, 403},
		"preflight of another origin":   {"OPTIONS", map[string]string{"Origin": "http://evil.example", "Access-Control-Request-Headers": pageHeader}, 403},
		"WebSocket of another origin":   {"GET", map[string]string{"Connection": "Upgrade", "Upgrade": "websocket", "Origin": "http://evil.example"}, 403},
		"WebSocket without an origin":   {"GET", map[string]string{"Connection": "Upgrade", "Upgrade": "websocket", pageHeader: "1"}, 403},
		"WebSocket at a rebound origin": {"GET", map[string]string{"Connection": "Upgrade", "Upgrade": "websocket", "Host": "evil.example:" + port, "Origin": "http://evil.example:" + port}, 421},
	} {
		headers := map[string]string{}
		for key, value := range test.headers {
			if key == "Cookie" { // the jar has none for another name
				value = b.cookie()
			}
			headers[key] = value
		}
		body := ""
		if test.method == "POST" {
			body = made
		}
		code, header, answer := b.do(test.method, namespaces, headers, body)
		if code != test.want || header.Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("%s: the answer is %d, want %d: %s", name, code, test.want, answer)
		}
	}
}

func (b *browser) cookie() string {
	at, _ := url.Parse(b.origin() + pagePath)
	return b.client.Jar.Cookies(at)[0].String()
}

// A page's requests are the administrator's, whatever user their headers name.
func TestNoImpersonation(t *testing.T) {
	t.Parallel()
	_, page := newPage(t)
	b := newBrowser(t, page).open()
	headers := map[string]string{
		pageHeader: "1", "Origin": b.origin(), "Content-Type": "application/json",
		"Impersonate-User": "nobody", "Authorization": "Bearer wrong", "X-Remote-User": "nobody",
	}
	code, _, body := b.do(http.MethodPost, clusterPath+"/apis/authentication.k8s.io/v1/selfsubjectreviews", headers, `{"apiVersion":"authentication.k8s.io/v1","kind":"SelfSubjectReview"}`)
	if code != http.StatusCreated || !strings.Contains(body, minikcm.AdminUser) {
		t.Errorf("the review is answered with %d: %s", code, body)
	}
	if code, _, body := b.do(http.MethodPost, namespaces, headers, strings.Repeat(" ", maxBody+1)); code < 400 {
		t.Errorf("a body over the limit is answered with %d: %s", code, body)
	}
}

// The page can watch through a WebSocket, which ends with the page.
func TestWatch(t *testing.T) {
	t.Parallel()
	c, page := newPage(t)
	b := newBrowser(t, page).open()
	config, err := websocket.NewConfig("ws://"+page.Address()+namespaces+"?watch=true", b.origin())
	if err != nil {
		t.Fatal(err)
	}
	config.Header = http.Header{"Cookie": {b.cookie()}}
	conn, err := config.DialContext(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := c.Client().CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "late"}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	for {
		var event struct {
			Type   string
			Object corev1.Namespace
		}
		if err := websocket.JSON.Receive(conn, &event); err != nil {
			t.Fatal(err)
		}
		if event.Object.Name == "late" {
			break
		}
	}
	page.Close()
	var rest []byte
	for err == nil {
		err = websocket.Message.Receive(conn, &rest)
	}
}

// The page's files come with a strict policy; nothing else is served.
func TestFiles(t *testing.T) {
	t.Parallel()
	_, page := newPage(t)
	b := newBrowser(t, page)
	for path, want := range map[string]string{
		"/ui/": "text/html; charset=utf-8", "/ui/page.js": "text/javascript; charset=utf-8", "/ui/worker.js": "text/javascript; charset=utf-8", "/ui/page.css": "text/css; charset=utf-8",
	} {
		code, header, _ := b.do(http.MethodGet, path, nil, "")
		policy := header.Get("Content-Security-Policy")
		if code != http.StatusOK || header.Get("Content-Type") != want || !strings.Contains(policy, "default-src 'none'; script-src 'self'; style-src 'self' 'sha256-abc=';") || strings.Contains(policy, "unsafe") {
			t.Errorf("%s: %d, %v", path, code, header)
		}
	}
	for _, path := range []string{"/ui/doc.go", "/ui/../ui/files.go", "/ui/%2e%2e/x", "/api", "/metrics", "/ui/cluste"} {
		if code, _, _ := b.do(http.MethodGet, path, nil, ""); code != http.StatusNotFound {
			t.Errorf("%s is answered with %d", path, code)
		}
	}
}

// The extension serves new links to administrators, and its end leaves a page that says so.
func TestExtension(t *testing.T) {
	t.Parallel()
	c, page := newPage(t)
	rest := c.Client().Discovery().RESTClient()
	data, err := rest.Post().AbsPath(Path).DoRaw(t.Context())
	var opened Opened
	if err != nil || json.Unmarshal(data, &opened) != nil {
		t.Fatalf("a link is answered with %s, %v", data, err)
	}
	b := newBrowser(t, page)
	if code, _, body := b.do(http.MethodGet, opened.Link, nil, ""); code != http.StatusOK {
		t.Errorf("the new link is answered with %d: %s", code, body)
	}
	for path, method := range map[string]string{Path: "GET", Path + "/x": "POST"} {
		if err := rest.Verb(method).AbsPath(path).Do(context.WithoutCancel(t.Context())).Error(); err == nil {
			t.Errorf("%s %s is served", method, path)
		}
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	if code, header, body := b.do(http.MethodGet, namespaces, map[string]string{pageHeader: "1"}, ""); code != http.StatusServiceUnavailable || header.Get("Retry-After") == "" {
		t.Errorf("without a cluster, namespaces are answered with %d: %s", code, body)
	}
}
