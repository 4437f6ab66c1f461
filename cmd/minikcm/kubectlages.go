package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"

	"minikcm.dev/minikcm"
	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/internal/scenario/faultapi"
)

// computesAges reports whether a command of kubectl with these arguments prints ages that kubectl computes
// from the machine's time. "get" prints ages that the server computes, also of events.
func computesAges(root *cobra.Command, args []string) bool {
	command, _, err := root.Find(args)
	return err == nil && (command.Name() == "describe" || command.Name() == "events") && !names(args, "--output", "-o")
}

// ageTransport makes kubectl print the ages that objects have on the cluster's clock. kubectl
// computes an age as the machine's time minus the object's timestamp. If the cluster's time
// differs from the machine's, the transport shifts the timestamps in the API server's
// responses by the difference.
//
// kubectl describe prints some timestamps as they are, which must stay unchanged. The
// transport therefore only shifts timestamps that kubectl prints as ages: all times of
// events, deletionTimestamp, and a pod's creationTimestamp.
type ageTransport struct {
	next http.RoundTripper
	// clock gets the cluster's time.
	clock func(context.Context) (*minikcm.ClockInfo, error)
	// same is set once the cluster is known to use the machine's time.
	same atomic.Bool
}

// withAges wraps the transport of kubectl's configuration.
func withAges(config *rest.Config) {
	own := rest.CopyConfig(config)
	own.QPS = -1 // a request for the time comes with each of kubectl's own, which is limited
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		client, err := faultapi.NewClient(own)
		if err != nil {
			return next // kubectl's own client fails with the same error
		}
		return &ageTransport{next: next, clock: func(ctx context.Context) (*minikcm.ClockInfo, error) {
			info, err := client.Info(ctx)
			if err != nil {
				return nil, err
			}
			return &info.Clock, nil
		}}
	})
}

// RoundTrip implements http.RoundTripper.
func (t *ageTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Method != http.MethodGet || t.same.Load() || !readsObjects(req.URL.Path) {
		return t.next.RoundTrip(req)
	}
	now, err := t.clock(req.Context())
	var foreign *faultapi.ForeignError
	if errors.As(err, &foreign) || err == nil && now.Mode == clock.ModeReal {
		t.same.Store(true)
	}
	if err != nil || t.same.Load() {
		return t.next.RoundTrip(req) // if the server is unreachable, this request fails, too
	}
	req = req.Clone(req.Context())
	req.Header.Set("Accept", runtime.ContentTypeJSON)
	res, err := t.next.RoundTrip(req)
	if err != nil || !isJSON(res) {
		return res, err
	}
	if req.URL.Query().Get("watch") == "true" {
		res.Body = t.stream(req.Context(), res.Body)
		return res, nil
	}
	return movedAnswer(res, clock.Real().Now().Sub(now.Now))
}

// readsObjects reports whether a path is one of objects, and not one of discovery.
func readsObjects(path string) bool {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	if at := slices.IndexFunc(parts, func(part string) bool { return part == "api" || part == "apis" }); at >= 0 {
		discovery := map[string]int{"api": 2, "apis": 3}[parts[at]]
		return len(parts)-at > discovery
	}
	return false
}

func isJSON(res *http.Response) bool {
	mediaType, _, err := mime.ParseMediaType(res.Header.Get("Content-Type"))
	return err == nil && mediaType == runtime.ContentTypeJSON
}

// movedAnswer shifts the timestamps in a response.
func movedAnswer(res *http.Response, by time.Duration) (*http.Response, error) {
	data, err := io.ReadAll(res.Body)
	if err = errors.Join(err, res.Body.Close()); err != nil {
		return nil, fmt.Errorf("reading the server's response: %w", err)
	}
	data = movedTimes(data, by)
	res.Body, res.ContentLength = io.NopCloser(bytes.NewReader(data)), int64(len(data))
	res.Header.Del("Content-Length")
	return res, nil
}

// stream shifts the timestamps in the events of a watch, each by the difference between the
// clocks when the event arrives.
func (t *ageTransport) stream(ctx context.Context, body io.ReadCloser) io.ReadCloser {
	reader, writer := io.Pipe()
	go func() {
		decoder := json.NewDecoder(body)
		for {
			var event json.RawMessage
			err := decoder.Decode(&event)
			if err == nil {
				var now *minikcm.ClockInfo
				if now, err = t.clock(ctx); err == nil {
					_, err = writer.Write(append(movedTimes(event, clock.Real().Now().Sub(now.Now)), '\n'))
				}
			}
			if err != nil {
				_ = body.Close()
				writer.CloseWithError(err)
				return
			}
		}
	}()
	return &streamBody{PipeReader: reader, body: body}
}

// streamBody is the body of a watch response. Closing it ends the stream.
type streamBody struct {
	*io.PipeReader
	body io.Closer
}

func (b *streamBody) Close() error {
	return errors.Join(b.PipeReader.Close(), b.body.Close())
}

// movedTimes shifts the timestamps of the objects in a JSON document. A document that cannot
// be parsed is returned unchanged.
func movedTimes(data []byte, by time.Duration) []byte {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	var document map[string]any
	if decoder.Decode(&document) != nil {
		return data
	}
	kind, _ := document["kind"].(string)
	switch items, isList := document["items"].([]any); {
	case isList:
		for _, item := range items {
			if object, ok := item.(map[string]any); ok {
				moveObject(object, kind, by)
			}
		}
	default:
		object, isEvent := document["object"].(map[string]any)
		if !isEvent {
			object = document
		}
		moveObject(object, kind, by)
	}
	moved, err := json.Marshal(document)
	if err != nil {
		return data
	}
	return moved
}

// moveObject shifts the timestamps that kubectl prints as ages. listKind is the kind of the
// list that contains the object: items of typed lists have no kind of their own.
func moveObject(object map[string]any, listKind string, by time.Duration) {
	kind, _ := object["kind"].(string)
	metadata, _ := object["metadata"].(map[string]any)
	move(metadata, "deletionTimestamp", by)
	switch {
	case kind == "Pod" || listKind == "PodList":
		move(metadata, "creationTimestamp", by)
	case kind == "Event" || listKind == "EventList":
		move(metadata, "creationTimestamp", by)
		for _, field := range []string{"firstTimestamp", "lastTimestamp", "eventTime", "deprecatedFirstTimestamp", "deprecatedLastTimestamp"} {
			move(object, field, by)
		}
		series, _ := object["series"].(map[string]any)
		move(series, "lastObservedTime", by)
	}
}

// move shifts a timestamp and keeps its precision. fields may be nil.
func move(fields map[string]any, name string, by time.Duration) {
	text, _ := fields[name].(string)
	at, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		return
	}
	layout := time.RFC3339
	if len(text) > len("2006-01-02T15:04:05Z") {
		layout = "2006-01-02T15:04:05.000000Z07:00" // a MicroTime
	}
	fields[name] = at.Add(by).UTC().Format(layout)
}
