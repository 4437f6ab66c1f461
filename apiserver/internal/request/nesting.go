package request

import (
	"bytes"
	"fmt"
	"mime"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"

	"minikcm.dev/minikcm/internal/nesting"
)

// MaxDepth limits the nesting of a body. Some decoders and patches read a document once
// for each of its levels, and the protobuf decoder calls itself once for each: the
// deepest message of MaxBodyBytes would exhaust the stack and end the process.
const MaxDepth = 250

// protobufMagic begins a protobuf body.
var protobufMagic = []byte{'k', '8', 's', 0}

// checkNesting refuses a body that is nested more than MaxDepth levels deep, or whose
// YAML aliases expand it to more than MaxBodyBytes.
func checkNesting(contentType string, data []byte) error {
	mediaType, _, err := mime.ParseMediaType(contentType)
	if err != nil {
		mediaType = runtime.ContentTypeJSON
	}
	switch {
	case bytes.HasPrefix(data, protobufMagic):
		err = nesting.Protobuf(data[len(protobufMagic):], MaxDepth)
	case strings.HasSuffix(mediaType, "yaml"):
		err = nesting.YAML(data, MaxDepth, MaxBodyBytes)
	default:
		err = nesting.JSON(data, MaxDepth)
	}
	if err != nil {
		return apierrors.NewBadRequest(fmt.Sprintf("reading the body of the request: %v", err))
	}
	return nil
}
