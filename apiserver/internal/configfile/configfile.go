package configfile

import (
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apiserver/pkg/apis/apiserver/install"

	"minikcm.dev/minikcm/internal/nesting"
)

const (
	// MaxBytes limits a file, and its size after the expansion of aliases.
	MaxBytes = 16 << 20
	// maxDepth limits the nesting of a document.
	maxDepth = 100
)

// Read reads a file of at most MaxBytes.
func Read(path string) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }() // it was only read
	content, err := io.ReadAll(io.LimitReader(file, MaxBytes+1))
	if err != nil {
		return nil, err
	}
	if len(content) > MaxBytes {
		return nil, fmt.Errorf("%s has more than %d bytes", path, MaxBytes)
	}
	return content, nil
}

// Decode decodes a document of any version of apiserver.config.k8s.io into the type T of
// k8s.io/apiserver/pkg/apis/apiserver. Unknown and repeated fields are errors.
func Decode[T runtime.Object](content []byte) (T, error) {
	var none T
	if len(content) == 0 {
		return none, errors.New("empty config data")
	}
	if err := nesting.YAML(content, maxDepth, MaxBytes); err != nil {
		return none, err
	}
	scheme := runtime.NewScheme()
	install.Install(scheme)
	decoded, err := runtime.Decode(serializer.NewCodecFactory(scheme, serializer.EnableStrict).UniversalDecoder(), content)
	if err != nil {
		return none, err
	}
	config, ok := decoded.(T)
	if !ok {
		return none, fmt.Errorf("expected %s, got %T", reflect.TypeFor[T]().Elem().Name(), decoded)
	}
	return config, nil
}
