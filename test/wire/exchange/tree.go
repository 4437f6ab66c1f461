package exchange

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"sync"

	apidiscoveryv2 "k8s.io/api/apidiscovery/v2"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/client-go/kubernetes/scheme"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	"sigs.k8s.io/yaml"
)

// tree returns an answer as a value that can be compared: its document if it has one, the events
// of a watch as a list, otherwise its text.
func (a *answer) tree() any {
	media, parameters, _ := strings.Cut(a.header.Get("Content-Type"), ";")
	if strings.Contains(parameters, "stream=watch") || isStream(media, a.body) {
		return frames(media, a.body)
	}
	return document(media, a.body)
}

// isStream reports whether a body consists of several JSON values.
func isStream(media string, body []byte) bool {
	return media == JSON && bytes.HasPrefix(body, []byte(`{"type":"`)) && bytes.Contains(body, []byte(`"object":{`))
}

func document(media string, body []byte) any {
	switch {
	case len(body) == 0:
		return nil
	case bytes.HasPrefix(body, protobufPrefix):
		return protobufDocument(body)
	case strings.HasSuffix(media, "json"):
		var tree any
		if err := unmarshal(body, &tree); err == nil {
			return tree
		}
	case media == YAML:
		var tree any
		if data, err := yaml.YAMLToJSON(body); err == nil && unmarshal(data, &tree) == nil {
			return tree
		}
	}
	return string(body)
}

// unmarshal keeps numbers as they are written.
func unmarshal(data []byte, into any) error {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	if err := decoder.Decode(into); err != nil {
		return err
	}
	if rest, _ := io.ReadAll(decoder.Buffered()); len(bytes.TrimSpace(rest)) > 0 {
		return fmt.Errorf("%d bytes follow the document", len(rest))
	}
	return nil
}

// frames returns the events of a watch.
func frames(media string, body []byte) (events []any) {
	if media != JSON {
		for len(body) >= 4 {
			size := binary.BigEndian.Uint32(body)
			if uint64(size) > uint64(len(body)-4) {
				return append(events, fmt.Sprintf("an event of %d bytes in %d", size, len(body)))
			}
			events = append(events, eventOf(media, body[4:4+size]))
			body = body[4+size:]
		}
		return events
	}
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.UseNumber()
	for {
		var event any
		if err := decoder.Decode(&event); err != nil {
			if err != io.EOF {
				events = append(events, err.Error())
			}
			return events
		}
		events = append(events, event)
	}
}

// eventOf decodes an event of a watch. In protobuf, events have no envelope, but their objects do.
func eventOf(media string, frame []byte) any {
	var event metav1.WatchEvent
	if media != Protobuf || bytes.HasPrefix(frame, protobufPrefix) || event.Unmarshal(frame) != nil {
		return document(media, frame)
	}
	return map[string]any{"type": event.Type, "object": document(Protobuf, event.Object.Raw)}
}

// kinds returns the kinds that protobuf may contain.
var kinds = sync.OnceValue(func() *runtime.Scheme {
	known := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		scheme.AddToScheme, metav1.AddMetaToScheme, apiextensionsv1.AddToScheme, apiregistrationv1.AddToScheme, apidiscoveryv2.AddToScheme,
	} {
		if err := add(known); err != nil {
			panic(err) // of the libraries
		}
	}
	return known
})

var protobufPrefix = []byte("k8s\x00")

// protobufDocument decodes Kubernetes' envelope and the message in it.
func protobufDocument(body []byte) any {
	var envelope runtime.Unknown
	if err := envelope.Unmarshal(body[len(protobufPrefix):]); err != nil {
		return "protobuf: " + err.Error()
	}
	out := map[string]any{"typeMeta": map[string]any{"apiVersion": envelope.APIVersion, "kind": envelope.Kind}, "contentType": envelope.ContentType, "contentEncoding": envelope.ContentEncoding}
	known := kinds()
	object, _, err := protobuf.NewSerializer(known, known).Decode(body, nil, nil)
	if err != nil {
		out["error"] = err.Error()
		out["raw"] = string(envelope.Raw)
		return out
	}
	data, err := json.Marshal(object)
	if err != nil {
		out["error"] = err.Error()
		return out
	}
	var tree any
	if err := unmarshal(data, &tree); err != nil {
		out["error"] = err.Error()
	}
	out["object"] = tree
	return out
}
