package apiserver

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// continueToken is where the next page of a list begins: the key, relative to the
// collection, and the revision that all pages are read at. The form is upstream's.
type continueToken struct {
	APIVersion      string `json:"v"`
	ResourceVersion int64  `json:"rv"`
	StartKey        string `json:"start"`
}

const continueVersion = "meta.k8s.io/v1"

// inconsistent is the revision of a token that continues at whatever is newest.
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
		return "", 0, badContinue(err)
	}
	var t continueToken
	if err := json.Unmarshal(data, &t); err != nil {
		return "", 0, badContinue(err)
	}
	switch {
	case t.APIVersion != continueVersion:
		return "", 0, badContinue(fmt.Errorf("server does not recognize this encoded version %q", t.APIVersion))
	case t.ResourceVersion == 0 || t.ResourceVersion < inconsistent:
		return "", 0, badContinue(errors.New("incorrect encoded start resourceVersion (version meta.k8s.io/v1)"))
	case t.StartKey == "" || strings.HasPrefix(t.StartKey, "/") || strings.Contains(t.StartKey, ".."):
		return "", 0, badContinue(errors.New("encoded start key empty or not canonical (version meta.k8s.io/v1)"))
	}
	return prefix + t.StartKey, t.ResourceVersion, nil
}

func badContinue(err error) error {
	return apierrors.NewBadRequest(fmt.Sprintf("continue key is not valid: %v", err))
}
