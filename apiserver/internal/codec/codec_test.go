package codec_test

import (
	"bytes"
	"compress/gzip"
	gojson "encoding/json"
	"errors"
	"io"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer/json"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/client-go/kubernetes/scheme"

	"minikcm.dev/minikcm/apiserver/internal/codec"
	"minikcm.dev/minikcm/apiserver/internal/deflate"
)

var kind = corev1.SchemeGroupVersion.WithKind("ConfigMap")

func object() *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a", Namespace: "default"}, Data: map[string]string{"k": "v"}}
}

// Encoded objects decode to the same, with this package and with client-go.
func TestRoundTrip(t *testing.T) {
	decoder := codec.NewDecoder(scheme.Scheme)
	for _, media := range []codec.Media{codec.JSON, codec.YAML, codec.Protobuf} {
		obj := object()
		data, err := codec.Encode(media, kind, obj)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(object(), obj); diff != "" {
			t.Fatalf("encoding changed the object:\n%s", diff)
		}
		back, got, strict, err := decoder.Decode(media, data, kind, &corev1.ConfigMap{})
		if err != nil || strict != nil || got != kind {
			t.Fatalf("%s: %v %v %v", media.ContentType(), got, strict, err)
		}
		if diff := cmp.Diff(runtime.Object(object()), back); diff != "" {
			t.Errorf("%s:\n%s", media.ContentType(), diff)
		}
		theirs, gvk, err := scheme.Codecs.UniversalDeserializer().Decode(data, nil, nil)
		if err != nil || *gvk != kind || theirs.(*corev1.ConfigMap).Data["k"] != "v" {
			t.Errorf("%s: client-go reads %v: %v", media.ContentType(), gvk, err)
		}
	}
}

// items is a page of objects.
type items []runtime.Object

func (i items) Len() int              { return len(i) }
func (i items) At(n int) (any, error) { return i[n], nil }

// encodeList encodes a list in pieces and checks that it is the same in one piece.
func encodeList(t *testing.T, list *codec.List, media codec.Media, indent bool) []byte {
	t.Helper()
	whole, err := list.Encode(nil, media, indent)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	rest, err := list.Encode(&out, media, indent)
	if err != nil {
		t.Fatal(err)
	}
	if out.Len() > 0 && len(rest) > 256<<10 && media != codec.YAML {
		t.Errorf("%s: a last piece of %d bytes", media.ContentType(), len(rest))
	}
	if !bytes.Equal(append(out.Bytes(), rest...), whole) {
		t.Errorf("%s: the pieces are not the whole", media.ContentType())
	}
	return whole
}

func TestLists(t *testing.T) {
	listKind := corev1.SchemeGroupVersion.WithKind("ConfigMapList")
	remaining := int64(5)
	meta := metav1.ListMeta{ResourceVersion: "7", Continue: "x", RemainingItemCount: &remaining}
	for _, n := range []int{0, 1, 300, 3000} {
		page := make(items, n)
		for i := range page {
			page[i] = object()
		}
		for _, media := range []codec.Media{codec.JSON, codec.YAML, codec.Protobuf} {
			data := encodeList(t, &codec.List{Kind: listKind, Meta: meta, Items: page}, media, false)
			got, _, err := scheme.Codecs.UniversalDeserializer().Decode(data, nil, nil)
			if err != nil {
				t.Fatalf("%s: %v", media.ContentType(), err)
			}
			list := got.(*corev1.ConfigMapList)
			if len(list.Items) != n || list.ResourceVersion != "7" || *list.RemainingItemCount != 5 {
				t.Errorf("%s of %d: %d items, %+v", media.ContentType(), n, len(list.Items), list.ListMeta)
			}
		}
	}
}

// A list of custom objects has the bytes of upstream's serializer for an UnstructuredList.
func TestUntypedLists(t *testing.T) {
	remaining := int64(5)
	for _, meta := range []metav1.ListMeta{
		{ResourceVersion: "7"}, {ResourceVersion: "7", Continue: "x"}, {ResourceVersion: "7", Continue: "x<>", RemainingItemCount: &remaining},
	} {
		for _, n := range []int{0, 1, 3} {
			list := &unstructured.UnstructuredList{}
			list.SetAPIVersion("example.com/v1")
			list.SetKind("WidgetList")
			list.SetResourceVersion(meta.ResourceVersion)
			list.SetContinue(meta.Continue)
			list.SetRemainingItemCount(meta.RemainingItemCount)
			var page items
			for i := range n {
				u := unstructured.Unstructured{Object: map[string]any{"kind": "Widget", "apiVersion": "example.com/v1", "spec": map[string]any{"b": int64(i), "a": "<&>", "f": 1.5}}}
				list.Items, page = append(list.Items, u), append(page, &u)
			}
			for media, serializer := range map[codec.Media]runtime.Encoder{
				codec.JSON: json.NewSerializerWithOptions(json.DefaultMetaFactory, scheme.Scheme, scheme.Scheme, json.SerializerOptions{StreamingCollectionsEncoding: true}),
				codec.YAML: json.NewSerializerWithOptions(json.DefaultMetaFactory, scheme.Scheme, scheme.Scheme, json.SerializerOptions{Yaml: true}),
			} {
				want := &bytes.Buffer{}
				if err := serializer.Encode(list, want); err != nil {
					t.Fatal(err)
				}
				got := encodeList(t, &codec.List{Kind: list.GroupVersionKind(), Meta: meta, Untyped: true, Items: page}, media, false)
				if string(got) != want.String() {
					t.Errorf("%s of %d:\n%s\nwant\n%s", media.ContentType(), n, got, want)
				}
			}
		}
	}
	var notProtobuf *codec.NotProtobufError
	for _, list := range []*codec.List{{Kind: kind, Untyped: true, Items: items{}}, {Kind: kind, Table: &codec.Table{}, Items: items{}}} {
		if _, err := list.Encode(nil, codec.Protobuf, false); !errors.As(err, &notProtobuf) {
			t.Errorf("a list of custom objects or a Table in protobuf: %v", err)
		}
	}
}

// Lists and Tables have the same bytes as the encoded Go types, and indented ones the same
// bytes as the output of json.Indent.
func TestListForms(t *testing.T) {
	for _, n := range []int{0, 1, 3, 2000} {
		list := &corev1.ConfigMapList{TypeMeta: metav1.TypeMeta{Kind: "ConfigMapList", APIVersion: "v1"}, ListMeta: metav1.ListMeta{ResourceVersion: "7"}, Items: []corev1.ConfigMap{}}
		table := &metav1.Table{TypeMeta: metav1.TypeMeta{Kind: "Table", APIVersion: "meta.k8s.io/v1"}, ColumnDefinitions: []metav1.TableColumnDefinition{{Name: "<Name>"}}, Rows: []metav1.TableRow{}}
		var page, rows values
		for i := range n {
			cm := object()
			cm.Data = map[string]string{"i": strconv.Itoa(i), "x": "<&>"}
			list.Items, page = append(list.Items, *cm), append(page, cm)
			row := metav1.TableRow{Cells: []any{i, "<x>", nil}}
			if i%3 > 0 {
				row.Object.Raw = []byte(`{"a":"\u003c"}` + strings.Repeat("\n", i%3-1))
			}
			table.Rows, rows = append(table.Rows, row), append(rows, row)
		}
		sameForms(t, list, &codec.List{Kind: list.GroupVersionKind(), Meta: list.ListMeta, Items: page})
		sameForms(t, table, &codec.List{Kind: table.GroupVersionKind(), Table: &codec.Table{Columns: table.ColumnDefinitions}, Items: rows})
		data, err := codec.Encode(codec.Protobuf, list.GroupVersionKind(), list)
		if got := encodeList(t, &codec.List{Kind: list.GroupVersionKind(), Meta: list.ListMeta, Items: page}, codec.Protobuf, false); err != nil || !bytes.Equal(got, data) {
			t.Errorf("protobuf of %d differs: %v", n, err)
		}
	}
}

// values are the items of a list of any type.
type values []any

func (v values) Len() int              { return len(v) }
func (v values) At(i int) (any, error) { return v[i], nil }

func sameForms(t *testing.T, want runtime.Object, list *codec.List) {
	t.Helper()
	data, err := codec.Encode(codec.JSON, want.GetObjectKind().GroupVersionKind(), want)
	if err != nil {
		t.Fatal(err)
	}
	var indented bytes.Buffer
	if err := gojson.Indent(&indented, data, "", "  "); err != nil {
		t.Fatal(err)
	}
	if got := encodeList(t, list, codec.JSON, false); !bytes.Equal(got, data) {
		t.Errorf("%.300s\nwant\n%.300s", got, data)
	}
	if got := encodeList(t, list, codec.JSON, true); !bytes.Equal(got, indented.Bytes()) {
		t.Errorf("%.300s\nwant\n%.300s", got, indented.Bytes())
	}
}

func TestNegotiate(t *testing.T) {
	table := schema.GroupVersionKind{Group: "meta.k8s.io", Version: "v1", Kind: "Table"}
	for accept, want := range map[string]*codec.Target{
		"":                                    {},
		"*/*":                                 {},
		"application/json":                    {},
		"application/yaml":                    {Media: codec.YAML},
		"application/vnd.kubernetes.protobuf": {Media: codec.Protobuf},
		"text/html":                           nil,
		"text/html,*/*;q=0.1":                 {},
		"application/json;q=0.5,application/yaml":                       {Media: codec.YAML},
		"application/yaml,application/json":                             {Media: codec.YAML},
		"application/json;as=Table;g=meta.k8s.io;v=v1":                  {As: table},
		"application/json;as=Poem;g=meta.k8s.io;v=v1":                   nil,
		"application/json;as=Table;g=meta.k8s.io;v=v1,application/json": {As: table},
		"application/json;as=Table;g=other;v=v1,application/json":       {},
		"application/json;q=0":                                          {},
		"application/cbor":                                              nil,
		"*/*,application/yaml":                                          {Media: codec.YAML},
		"application/vnd.kubernetes.protobuf,application/json":          {Media: codec.Protobuf},
		"application/vnd.kubernetes.protobuf;as=Table;g=meta.k8s.io;v=v1,application/json;as=Table;g=meta.k8s.io;v=v1": {As: table},
		"application/json;pretty=1":           {Pretty: true},
		"application/json;stream=watch;sv=v1": {},
		"application/json;sv=v2":              nil,
		";;":                                  nil,
	} {
		got, ok := codec.Negotiate(accept, codec.AllowTransforms)
		if ok != (want != nil) || want != nil && got != *want {
			t.Errorf("%q: %+v %v, want %+v", accept, got, ok, want)
		}
	}
}

func TestDeleteOptions(t *testing.T) {
	seconds := int64(3)
	want := &metav1.DeleteOptions{GracePeriodSeconds: &seconds}
	for _, media := range []codec.Media{codec.JSON, codec.YAML, codec.Protobuf} {
		for _, gv := range []schema.GroupVersion{{Version: "v1"}, {Group: "example.com", Version: "v1alpha1"}, {Group: "meta.k8s.io", Version: "v1"}} {
			data, err := codec.Encode(media, gv.WithKind("DeleteOptions"), want)
			if err != nil {
				t.Fatal(err)
			}
			got, err := codec.DecodeDeleteOptions(media, data)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s %s:\n%s", media.ContentType(), gv, diff)
			}
		}
		other, err := codec.Encode(media, kind, object())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := codec.DecodeDeleteOptions(media, other); err == nil {
			t.Errorf("%s: another kind is taken", media.ContentType())
		}
	}
}

// Stored bytes, whole, damaged or from an upstream apiserver, are decoded or rejected; none
// makes the decoder panic.
func FuzzDecodeStored(f *testing.F) {
	stored, err := codec.EncodeStored(kind, object())
	if err != nil {
		f.Fatal(err)
	}
	theirs := &bytes.Buffer{}
	info, _ := runtime.SerializerInfoForMediaType(scheme.Codecs.SupportedMediaTypes(), runtime.ContentTypeProtobuf)
	if err := scheme.Codecs.EncoderForVersion(info.Serializer, corev1.SchemeGroupVersion).Encode(object(), theirs); err != nil {
		f.Fatal(err)
	}
	if !bytes.HasPrefix(stored, theirs.Bytes()) {
		f.Fatalf("not stored as upstream stores it:\n%q\n%q", stored, theirs)
	}
	f.Add(stored)
	f.Add(theirs.Bytes())
	f.Add(stored[:len(stored)-3])
	f.Add([]byte("k8s\x00\x12\xff\xff\xff\xff\xff\xff\xff\xff\x7f"))
	f.Add([]byte(`{"apiVersion":"v1","kind":"ConfigMap","data":{"k":"v"},"unknown":1}`))
	decoder := codec.NewDecoder(scheme.Scheme)
	f.Fuzz(func(t *testing.T, data []byte) {
		cm := &corev1.ConfigMap{}
		if err := decoder.DecodeStored(data, cm); err != nil {
			return
		}
		if _, err := codec.EncodeStored(kind, cm); err != nil {
			t.Fatalf("what was read cannot be stored: %v", err)
		}
	})
}

// inRuns divides a list into runs of each items. It keeps the encodings of runs that begin at an
// even index.
type inRuns struct {
	each, items int
	plain       map[int][]byte
	parts       map[int]*deflate.Part
}

func (r *inRuns) End(i int) int { return min(i+r.each, r.items) }

func (r *inRuns) Plain(i, _ int, encode func() ([]byte, error)) (data []byte, err error) {
	if r.plain[i] == nil {
		if data, err = encode(); err != nil || i%2 == 1 {
			return data, err
		}
		r.plain[i] = bytes.Clone(data)
	}
	return r.plain[i], nil
}

func (r *inRuns) Compressed(i, _ int, encode func() ([]byte, error)) (*deflate.Part, error) {
	if r.parts[i] == nil {
		data, err := encode()
		if err != nil {
			return nil, err
		}
		part, err := deflate.Compress(data)
		if err != nil || i%2 == 1 {
			return part, err
		}
		r.parts[i] = part
	}
	return r.parts[i], nil
}

func (r *inRuns) Len(i, _ int) (int, bool) {
	if part := r.parts[i]; part != nil {
		return part.Len(), true
	}
	return len(r.plain[i]), r.plain[i] != nil
}

// runWriter is the response to a client that accepts gzip if compressed is set.
type runWriter struct {
	bytes.Buffer
	compressed *deflate.Stream
	pieces     int
}

func (w *runWriter) Compresses() bool { return w.compressed != nil }

func (w *runWriter) Append(part *deflate.Part) error {
	w.pieces++
	return w.compressed.Append(part)
}

func (w *runWriter) Write(p []byte) (int, error) {
	w.pieces++
	if w.compressed != nil {
		return w.compressed.Write(p)
	}
	return w.Buffer.Write(p)
}

// read returns all of the document.
func (w *runWriter) read(t *testing.T, rest []byte) []byte {
	t.Helper()
	if w.pieces == 0 {
		return rest
	}
	_, err := w.Write(rest)
	if err != nil || w.compressed == nil {
		return w.Bytes()
	}
	if err := w.compressed.Close(); err != nil {
		t.Fatal(err)
	}
	unzip, err := gzip.NewReader(&w.Buffer)
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(unzip)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// A list that is encoded in runs, kept or not, has the same bytes, and is written in pieces if
// it is.
func TestListsInRuns(t *testing.T) {
	meta := metav1.ListMeta{ResourceVersion: "7", Continue: "x"}
	for _, n := range []int{0, 1, 3, 700, 3000} {
		page, untyped := make(items, n), make(items, n)
		for i := range page {
			cm := object()
			cm.Data["k"] = strings.Repeat("<v>", i%200)
			page[i], untyped[i] = cm, &unstructured.Unstructured{Object: map[string]any{"kind": "W", "spec": cm.Data["k"]}}
		}
		for name, list := range map[string]*codec.List{
			"typed":   {Kind: corev1.SchemeGroupVersion.WithKind("ConfigMapList"), Meta: meta, Items: page},
			"untyped": {Kind: schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "WList"}, Meta: meta, Untyped: true, Items: untyped},
		} {
			for _, media := range []codec.Media{codec.JSON, codec.Protobuf} {
				if list.Untyped && media == codec.Protobuf {
					continue
				}
				want, pieces := encodeList(t, list, media, false), &bytes.Buffer{}
				if _, err := list.Encode(pieces, media, false); err != nil {
					t.Fatal(err)
				}
				for _, each := range []int{1, 33, 5000} {
					kept := &inRuns{each: each, items: n, plain: map[int][]byte{}, parts: map[int]*deflate.Part{}}
					for try := range 6 {
						w := &runWriter{}
						if try%2 == 1 {
							w.compressed = deflate.NewStream(&w.Buffer)
						}
						rest, err := list.EncodeRuns(w, media, kept)
						if err != nil {
							t.Fatal(err)
						}
						inPieces := w.pieces > 0
						if got := w.read(t, rest); !bytes.Equal(got, want) || inPieces != (pieces.Len() > 0) {
							t.Fatalf("%s of %d as %s in runs of %d, try %d: %d bytes, want %d; in pieces: %t", name, n, media.ContentType(), each, try, len(got), len(want), inPieces)
						}
					}
				}
			}
		}
	}
}

// Protobuf documents that no client-go encoder makes decode, or fail, as with client-go.
func TestUnusualProtobuf(t *testing.T) {
	plain, err := codec.Encode(codec.Protobuf, kind, object())
	if err != nil {
		t.Fatal(err)
	}
	other, err := codec.Encode(codec.Protobuf, corev1.SchemeGroupVersion.WithKind("Secret"), object())
	if err != nil {
		t.Fatal(err)
	}
	untyped, err := codec.Encode(codec.Protobuf, schema.GroupVersionKind{}, object())
	if err != nil {
		t.Fatal(err)
	}
	theirs := protobuf.NewSerializer(scheme.Scheme, scheme.Scheme)
	for name, data := range map[string][]byte{
		"plain": plain, "of another kind": other, "without a kind": untyped, "cut": plain[:len(plain)-9], "magic only": plain[:4], "empty": nil,
		"second message": append(bytes.Clone(plain), 0x12, 0x00), "unknown field": append(bytes.Clone(plain), 0x7a, 0x01, 0x00), "varint field": append(bytes.Clone(plain), 0x78, 0x01),
	} {
		mine, got, strict, err := codec.NewDecoder(scheme.Scheme).Decode(codec.Protobuf, data, kind, &corev1.ConfigMap{Data: map[string]string{"old": "x"}})
		want, wantKind, wantErr := theirs.Decode(data, &kind, &corev1.ConfigMap{})
		if (err == nil) != (wantErr == nil) || strict != nil || err != nil && err.Error() != wantErr.Error() {
			t.Errorf("%s: %v %v, want %v", name, err, strict, wantErr)
			continue
		}
		if wantErr != nil {
			continue
		}
		want.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{})
		if diff := cmp.Diff(want, mine); diff != "" || got != *wantKind {
			t.Errorf("%s: %v, want %v:\n%s", name, got, *wantKind, diff)
		}
	}
}
