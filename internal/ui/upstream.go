package ui

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	"minikcm.dev/minikcm"
	"minikcm.dev/minikcm/internal/openrequests"
	"minikcm.dev/minikcm/internal/ui/feeds"
)

const (
	// Feature is the name of the extension, and Path where it is served.
	Feature = "ui"
	Path    = "/minikcm/v1/" + Feature
)

// Opened is the response to a POST to Path. With look=true, the page may only look.
type Opened struct {
	// Link opens the page once.
	Link string `json:"link"`
}

// upstream is the API server that the page's requests go to.
type upstream struct {
	proxy     *httputil.ReverseProxy
	transport *http.Transport
	host      *url.URL
	feeds     *feeds.Feeds
}

// passedHeaders are the headers of the page's requests that reach the API server. Those that
// change the user, such as Impersonate-User, and the session's cookie do not.
var passedHeaders = []string{
	"Accept", "Content-Type", "User-Agent", "Connection", "Upgrade",
	"Sec-Websocket-Key", "Sec-Websocket-Version", "Sec-Websocket-Protocol", "Sec-Websocket-Extensions",
}

// newUpstream returns the API server that config reaches, over sockets as other clients.
func newUpstream(config *rest.Config, logger klog.Logger) (*upstream, error) {
	tlsConfig, err := rest.TLSConfigFor(config)
	if err != nil {
		return nil, fmt.Errorf("configuring the page's client: %w", err)
	}
	host, err := url.Parse(config.Host)
	if err != nil {
		return nil, fmt.Errorf("parsing the API server's address %q: %w", config.Host, err)
	}
	transport := &http.Transport{TLSClientConfig: tlsConfig, ForceAttemptHTTP2: true, IdleConnTimeout: idleTimeout, DisableCompression: true, TLSHandshakeTimeout: 10 * time.Second}
	rewrite := func(p *httputil.ProxyRequest) {
		p.Out.URL.Path = strings.TrimPrefix(p.In.URL.Path, clusterPath)
		p.Out.URL.RawPath = strings.TrimPrefix(p.In.URL.RawPath, clusterPath)
		p.Out.Header = http.Header{}
		for _, name := range passedHeaders {
			if values := p.In.Header.Values(name); len(values) > 0 {
				p.Out.Header[http.CanonicalHeaderKey(name)] = values
			}
		}
		if p.In.Header.Get("Upgrade") != "" {
			p.Out.Header.Set("Origin", config.Host)
		} else {
			p.Out.Header.Del("Connection")
		}
		p.SetURL(host)
	}
	up := &upstream{
		transport: transport, host: host,
		proxy: &httputil.ReverseProxy{
			Rewrite: rewrite, Transport: transport, FlushInterval: -1, ModifyResponse: keepPolicy,
			ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) {
				minikcm.WriteError(w, unreachable(err))
			},
		},
	}
	up.feeds = feeds.New(up.watch, logger)
	return up, nil
}

func unreachable(err error) error {
	return apierrors.NewServiceUnavailable("the API server cannot be reached: " + err.Error())
}

// keepPolicy removes the headers of a response that would weaken the page's own.
func keepPolicy(r *http.Response) error {
	for _, name := range []string{"Content-Security-Policy", "Set-Cookie", "Access-Control-Allow-Origin", "Cache-Control", "X-Content-Type-Options"} {
		r.Header.Del(name)
	}
	return nil
}

// attach makes the page one of another API server; nil: of none.
func (s *Server) attach(up *upstream) {
	if old := s.upstream.Swap(up); old != nil {
		old.feeds.Close()
		old.transport.CloseIdleConnections()
	}
}

// Extension attaches the page to the cluster that has it, and detaches it when that closes.
func (s *Server) Extension() minikcm.Extension {
	return minikcm.Extension{Name: Feature, Start: func(_ context.Context, cluster *minikcm.Cluster) (minikcm.ExtensionHandler, error) {
		config, err := cluster.HTTPSConfig()
		if err != nil {
			return nil, err
		}
		up, err := newUpstream(config, s.logger)
		if err != nil {
			return nil, err
		}
		s.attach(up)
		return service{s}, nil
	}}
}

// service serves new links.
type service struct{ server *Server }

// ServeHTTP implements minikcm.ExtensionHandler.
func (s service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.URL.Path != Path:
		minikcm.WriteError(w, apierrors.NewNotFound(schema.GroupResource{Group: "minikcm.dev", Resource: Feature}, strings.TrimPrefix(r.URL.Path, Path+"/")))
	case r.Method != http.MethodPost:
		w.Header().Set("Allow", http.MethodPost)
		minikcm.WriteError(w, apierrors.NewMethodNotSupported(schema.GroupResource{Group: "minikcm.dev", Resource: Feature}, strings.ToLower(r.Method)))
	default:
		query, err := openrequests.Parameters(r, "look")
		looks, bad := openrequests.Boolean(query, "look")
		if err = cmp.Or(err, bad); err != nil {
			minikcm.WriteError(w, err)
			return
		}
		openrequests.Answer(w, http.StatusCreated, Opened{Link: s.server.link(looks)})
	}
}

// Close implements minikcm.ExtensionHandler.
func (s service) Close() error {
	s.server.attach(nil)
	return nil
}
