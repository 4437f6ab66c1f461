package informers

import (
	"context"
	"mime"
	"net/http"
	"strings"

	"k8s.io/client-go/rest"

	"minikcm.dev/minikcm/internal/inflight"
)

type flowKey struct{}

func withFlow(ctx context.Context, f *flow) context.Context {
	return context.WithValue(ctx, flowKey{}, f)
}

// Wrap makes clients of config count the watch events that they receive for a Factory's
// informers. Other requests pass as they are.
func Wrap(config *rest.Config) {
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return transport{next} })
}

type transport struct{ next http.RoundTripper }

// WrappedRoundTripper lets client-go find the transport beneath.
func (t transport) WrappedRoundTripper() http.RoundTripper { return t.next }

func (t transport) RoundTrip(req *http.Request) (*http.Response, error) {
	f, ok := req.Context().Value(flowKey{}).(*flow)
	if !ok {
		return t.next.RoundTrip(req)
	}
	if f.retries != nil && !f.retries.mayAsk(req) {
		return nil, errNotLed
	}
	query := req.URL.Query()
	watches := isTrue(query.Get("watch"))
	if query.Has("timeoutSeconds") {
		// The reflector measures it on the machine's clock, the server on the
		// cluster's.
		query.Del("timeoutSeconds")
		req = req.Clone(req.Context())
		req.URL.RawQuery = query.Encode()
	}
	streams := isTrue(query.Get("sendInitialEvents"))
	if watches && !streams {
		f.watchesOn()
	}
	turn, resp, err := t.ask(f, req)
	for watches && f.retries != nil && asksAgain(resp, err) {
		if err == nil {
			_ = resp.Body.Close() // it is not read
		}
		if err := f.rest(req.Context()); err != nil {
			return nil, err
		}
		turn, resp, err = t.ask(f, req)
	}
	if err != nil || resp.StatusCode != http.StatusOK {
		return resp, err
	}
	if !watches {
		f.listEnds(turn, false)
		return resp, nil
	}
	if scan := scannerFor(resp.Header.Get("Content-Type")); scan != nil {
		resp.Body = &body{
			ReadCloser: resp.Body, flow: f, turn: turn, scan: scan,
			initial: streams,
		}
	}
	f.connect(turn)
	return resp, nil
}

// ask sends a request once.
func (t transport) ask(f *flow, req *http.Request) (turn uint64, resp *http.Response, err error) {
	turn = f.request()
	ctx := req.Context()
	if f.mayPause() {
		ctx = inflight.WithPauser(ctx, f)
	} else {
		ctx = inflight.Hurried(ctx)
	}
	resp, err = t.next.RoundTrip(req.WithContext(ctx))
	if err == nil {
		f.answered(resp.StatusCode)
	}
	return turn, resp, err
}

func isTrue(value string) bool { return value == "true" || value == "1" }

// scannerFor returns how a stream of this media type is cut into frames, or nil if
// it is not known.
func scannerFor(contentType string) scanner {
	media, _, err := mime.ParseMediaType(contentType)
	switch {
	case err != nil:
		return nil
	case media == "application/json" || strings.HasSuffix(media, "+json"):
		return scanJSON
	case media == "application/vnd.kubernetes.protobuf":
		return scanProtobuf
	}
	return nil
}
