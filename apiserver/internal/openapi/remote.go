package openapi

import (
	"encoding/json"
	"fmt"

	openapi_v2 "github.com/google/gnostic-models/openapiv2"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kube-openapi/pkg/aggregator"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"minikcm.dev/minikcm/internal/nesting"
)

// maxRemoteDepth limits the nesting of another server's document.
const maxRemoteDepth = 250

// Remote is the part of another server's OpenAPI v2 document that describes one group and
// version. It is immutable.
type Remote struct {
	document *spec.Swagger
	hash     string
}

// ReadRemote reads the document of another server, and leaves out the paths that are not
// beneath the group and version, and the definitions that its other paths do not use. It returns
// an error for a document that is not valid: merged, it would spoil all others.
func ReadRemote(data []byte, gv schema.GroupVersion) (*Remote, error) {
	if err := nesting.JSON(data, maxRemoteDepth); err != nil {
		return nil, err
	}
	all := &spec.Swagger{}
	if err := all.UnmarshalJSON(data); err != nil {
		return nil, err
	}
	if all.Paths == nil {
		return nil, fmt.Errorf("it has no paths")
	}
	own := aggregator.FilterSpecByPathsWithoutSideEffects(all, []string{"/apis/" + gv.Group + "/" + gv.Version + "/"})
	filtered, err := json.Marshal(own)
	if err != nil {
		return nil, err
	}
	if _, err := openapi_v2.ParseDocument(filtered); err != nil {
		return nil, err
	}
	return &Remote{document: own, hash: hashOf(data)}, nil
}

// IsOf reports whether the document was read from data.
func (r *Remote) IsOf(data []byte) bool { return r.hash == hashOf(data) }

// WithRemote returns the same documents, with the documents of other servers merged into the
// document of version 2. If two have one path, the first counts; definitions of one name that
// differ get different names, as upstream.
func (d *Documents) WithRemote(remotes []*Remote) *Documents {
	other := *d
	other.v2 = newDocument(func() (any, error) {
		merged, err := d.source.v2()
		if err != nil {
			return nil, err
		}
		for _, r := range remotes {
			if err := aggregator.MergeSpecsIgnorePathConflictRenamingDefinitionsAndParameters(merged, r.document); err != nil {
				return nil, fmt.Errorf("merging the OpenAPI v2 documents of other servers: %w", err)
			}
		}
		return merged, nil
	}, protobufV2).compressed()
	return &other
}
