package openapi

import (
	"bytes"
	"net/http"
	"strconv"
	"strings"
	"time"

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
	if d.gzipped != nil {
		w.Header().Add("Vary", "Accept-Encoding")
	}
	w.Header().Add("Vary", "Accept")
	f, ok := choose(r.Header.Get("Accept"), formats)
	if !ok {
		w.WriteHeader(http.StatusNotAcceptable)
		return
	}
	encode := d.json
	if f.protobuf {
		encode = d.protobuf
	} else if d.gzipped != nil && acceptsGzip(r) {
		encode = d.gzipped
		w.Header().Set("Content-Encoding", "gzip")
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

// acceptsGzip reports whether a client names gzip without a preference.
func acceptsGzip(r *http.Request) bool {
	for encoding := range strings.SplitSeq(r.Header.Get("Accept-Encoding"), ",") {
		if strings.TrimSpace(encoding) == "gzip" {
			return true
		}
	}
	return false
}

// send sends data or the part of it that is requested, or a 304 if the client has it already.
func send(w http.ResponseWriter, r *http.Request, contentType string, data []byte, hash string) {
	w.Header().Set("Etag", strconv.Quote(hash))
	w.Header().Set("Content-Type", contentType)
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(data))
}

func fail(w http.ResponseWriter, err error) {
	http.Error(w, err.Error(), http.StatusInternalServerError)
}
