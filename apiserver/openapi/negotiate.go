package openapi

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/munnerz/goautoneg"
)

const (
	mediaJSON       = "application/json"
	mediaProtobufV2 = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"
	mediaProtobufV3 = "application/com.github.proto-openapi.spec.v3.v1.0+protobuf"
)

// format is a media type that clients request, and the Content-Type of the response.
// Types with an @ are not valid media types, but kubectl requests them.
type format struct {
	asked, answered string
	protobuf        bool
}

var (
	formatsV2 = []format{
		{asked: mediaJSON, answered: mediaJSON},
		{asked: "application/com.github.proto-openapi.spec.v2@v1.0+protobuf", answered: mediaProtobufV2, protobuf: true},
		{asked: mediaProtobufV2, answered: mediaProtobufV2, protobuf: true},
	}
	formatsV3 = []format{
		{asked: mediaJSON, answered: mediaJSON},
		{asked: "application/com.github.proto-openapi.spec.v3@v1.0+protobuf", answered: mediaProtobufV3, protobuf: true},
		{asked: mediaProtobufV3, answered: mediaProtobufV3, protobuf: true},
	}
)

// choose returns the format that a client prefers; ok is false if it accepts none.
func choose(accept string, formats []format) (chosen format, ok bool) {
	if accept == "" {
		return formats[0], true
	}
	for _, clause := range goautoneg.ParseAccept(accept) {
		for _, f := range formats {
			kind, subtype, _ := strings.Cut(f.asked, "/")
			if (clause.Type == kind || clause.Type == "*") && (clause.SubType == subtype || clause.SubType == "*") {
				return f, true
			}
		}
	}
	return format{}, false
}

func (d *document) serve(w http.ResponseWriter, r *http.Request, formats []format) {
	w.Header().Add("Vary", "Accept")
	f, ok := choose(r.Header.Get("Accept"), formats)
	if !ok {
		w.WriteHeader(http.StatusNotAcceptable)
		return
	}
	encode := d.json
	if f.protobuf {
		encode = d.protobuf
	}
	data, err := encode()
	if err != nil {
		fail(w, err)
		return
	}
	hash, err := d.hash()
	if err != nil {
		fail(w, err)
		return
	}
	send(w, r, f.answered, data, hash)
}

// send sends data, or a 304 if the client has it already.
func send(w http.ResponseWriter, r *http.Request, contentType string, data []byte, hash string) {
	etag := strconv.Quote(hash)
	w.Header().Set("Etag", etag)
	if r.Header.Get("If-None-Match") == etag {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	w.Header().Set("Content-Type", contentType)
	w.Header().Set("Content-Length", strconv.Itoa(len(data)))
	if r.Method != http.MethodHead {
		// A write fails only if the client has disconnected.
		_, _ = w.Write(data)
	}
}

func fail(w http.ResponseWriter, err error) {
	http.Error(w, err.Error(), http.StatusInternalServerError)
}
