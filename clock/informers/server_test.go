package informers_test

import (
	"bytes"
	"encoding/binary"
	"io"
	"maps"
	"net/http"
	"strconv"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/internal/inflight"
)

// server is an API server of one resource, ConfigMaps, behind a RoundTripper. It
// streams lists or, if plain, gives whole ones. It counts what is written to a watch
// until the client comes back for more.
type server struct {
	t           *testing.T
	ledger      *clock.Ledger
	contentType string
	plain       bool

	mu       sync.Mutex
	revision int
	objects  map[string]*corev1.ConfigMap
	streams  map[*stream]bool
}

func newServer(t *testing.T, ledger *clock.Ledger, contentType string) *server {
	return &server{
		t: t, ledger: ledger, contentType: contentType, revision: 1,
		objects: map[string]*corev1.ConfigMap{}, streams: map[*stream]bool{},
	}
}

func (s *server) config() *rest.Config {
	return &rest.Config{
		Host: "http://server.invalid", Transport: s, QPS: -1,
		ContentConfig: rest.ContentConfig{AcceptContentTypes: s.contentType, ContentType: s.contentType},
	}
}

func (s *server) encode(obj runtime.Object) []byte {
	info, ok := runtime.SerializerInfoForMediaType(scheme.Codecs.SupportedMediaTypes(), s.contentType)
	if !ok {
		s.t.Errorf("no serializer for %s", s.contentType)
	}
	data, err := runtime.Encode(scheme.Codecs.EncoderForVersion(info.Serializer, corev1.SchemeGroupVersion), obj)
	if err != nil {
		s.t.Error(err)
	}
	return data
}

func (s *server) frame(kind watch.EventType, obj runtime.Object) []byte {
	raw := s.encode(obj)
	if s.contentType == runtime.ContentTypeJSON {
		return []byte(`{"type":"` + string(kind) + `","object":` + string(bytes.TrimSpace(raw)) + "}\n")
	}
	event := metav1.WatchEvent{Type: string(kind), Object: runtime.RawExtension{Raw: raw}}
	data, err := event.Marshal()
	if err != nil {
		s.t.Error(err)
	}
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(data))), data...)
}

// write creates, updates or deletes an object and sends the event to the watchers. It counts as
// in flight while it does.
func (s *server) write(kind watch.EventType, name string, data map[string]string) {
	defer inflight.Begin(s.ledger, inflight.Request).End()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.revision++
	obj := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, ResourceVersion: strconv.Itoa(s.revision)},
		Data:       data,
	}
	if kind == watch.Deleted {
		delete(s.objects, name)
	} else {
		s.objects[name] = obj
	}
	for st := range s.streams {
		st.send(s.frame(kind, obj))
	}
}

// forget deletes an object without an event.
func (s *server) forget(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.revision++
	delete(s.objects, name)
}

// breakStreams ends all watches. With lose, unread data is lost.
func (s *server) breakStreams(lose bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for st := range s.streams {
		st.end(lose)
	}
	clear(s.streams)
}

// watches is how many watches there are.
func (s *server) watches() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.streams)
}

func (s *server) RoundTrip(req *http.Request) (*http.Response, error) {
	defer inflight.Begin(s.ledger, inflight.Request).End()
	s.mu.Lock()
	defer s.mu.Unlock()
	resp := &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {s.contentType}}, Request: req}
	query := req.URL.Query()
	if !query.Has("watch") {
		list := &corev1.ConfigMapList{ListMeta: metav1.ListMeta{ResourceVersion: strconv.Itoa(s.revision)}}
		for obj := range maps.Values(s.objects) {
			list.Items = append(list.Items, *obj)
		}
		resp.Body = io.NopCloser(bytes.NewReader(s.encode(list)))
		return resp, nil
	}
	if query.Get("sendInitialEvents") == "true" && s.plain {
		resp.StatusCode = http.StatusUnprocessableEntity
		resp.Body = io.NopCloser(bytes.NewReader(s.encode(&metav1.Status{Status: metav1.StatusFailure, Code: 422, Reason: metav1.StatusReasonInvalid})))
		return resp, nil
	}
	st := &stream{server: s, counted: inflight.NewFlag(s.ledger, inflight.Event)}
	st.changed.L = &st.mu
	if query.Get("sendInitialEvents") == "true" {
		for obj := range maps.Values(s.objects) {
			st.send(s.frame(watch.Added, obj))
		}
		st.send(s.frame(watch.Bookmark, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
			ResourceVersion: strconv.Itoa(s.revision), Annotations: map[string]string{metav1.InitialEventsAnnotationKey: "true"},
		}}))
	}
	s.streams[st] = true
	resp.Body = st
	return resp, nil
}

// stream is a watch's body.
type stream struct {
	server *server

	mu      sync.Mutex
	changed sync.Cond
	unread  []byte
	counted inflight.Flag
	ended   bool
}

func (st *stream) send(frame []byte) {
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.ended {
		return
	}
	st.beginLocked()
	st.unread = append(st.unread, frame...)
	st.changed.Broadcast()
}

func (st *stream) beginLocked() {
	st.counted.Set(true)
}

func (st *stream) settleLocked() {
	st.counted.Set(false)
}

func (st *stream) end(lose bool) {
	st.mu.Lock()
	defer st.mu.Unlock()
	if lose {
		st.unread = nil
	}
	st.ended = true
	st.beginLocked() // until the client has closed its end
	st.changed.Broadcast()
}

func (st *stream) Read(into []byte) (int, error) {
	st.mu.Lock()
	defer st.mu.Unlock()
	for len(st.unread) == 0 {
		if st.ended {
			return 0, io.EOF
		}
		st.settleLocked()
		st.changed.Wait()
	}
	n := copy(into[:min(len(into), 100)], st.unread) // frames come in pieces
	st.unread = st.unread[n:]
	return n, nil
}

func (st *stream) Close() error {
	s := st.server
	s.mu.Lock()
	delete(s.streams, st)
	s.mu.Unlock()
	st.mu.Lock()
	defer st.mu.Unlock()
	st.ended, st.unread = true, nil
	st.settleLocked()
	st.changed.Broadcast()
	return nil
}
