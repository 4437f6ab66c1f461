package verbs

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// continueToken identifies the start of the next page of a list: the key, relative to
// the collection, and the revision at which all pages are read. The format is
// upstream's.
type continueToken struct {
	APIVersion      string `json:"v"`
	ResourceVersion int64  `json:"rv"`
	StartKey        string `json:"start"`
}

const continueVersion = "meta.k8s.io/v1"

// inconsistent is the revision of a token whose pages continue at the newest revision.
const inconsistent = -1

func encodeContinue(prefix, startKey string, revision int64) (string, error) {
	relative, ok := strings.CutPrefix(startKey, prefix)
	if !ok {
		return "", apierrors.NewInternalError(fmt.Errorf("key %q is not beneath %q", startKey, prefix))
	}
	data, err := json.Marshal(continueToken{APIVersion: continueVersion, ResourceVersion: revision, StartKey: relative})
	if err != nil {
		return "", apierrors.NewInternalError(err)
	}
	return base64.RawURLEncoding.EncodeToString(data), nil
}

func decodeContinue(token, prefix string) (startKey string, revision int64, err error) {
	data, err := base64.RawURLEncoding.DecodeString(token)
	if err != nil {
		return "", 0, fmt.Errorf("%w: %w", errContinue, err)
	}
	var t continueToken
	if err := json.Unmarshal(data, &t); err != nil {
		return "", 0, fmt.Errorf("%w: %w", errContinue, err)
	}
	switch {
	case t.APIVersion != continueVersion:
		return "", 0, fmt.Errorf("%w: server does not recognize this encoded version %v", errContinue, t.APIVersion)
	case t.ResourceVersion == 0:
		return "", 0, fmt.Errorf("%w: incorrect encoded start resourceVersion (%s)", errContinue, versionHint)
	case t.StartKey == "":
		return "", 0, fmt.Errorf("%w: encoded start key empty (%s)", errContinue, versionHint)
	}
	// A forged token must not reach keys outside the collection.
	key := strings.TrimPrefix(t.StartKey, "/")
	if path.Clean("/"+key) != "/"+key {
		return "", 0, fmt.Errorf("%w: %s", errContinue, t.StartKey)
	}
	return prefix + key, max(t.ResourceVersion, inconsistent), nil
}

// errContinue is wrapped by the errors about a token.
var errContinue = errors.New("continue key is not valid")

const versionHint = "version " + continueVersion
