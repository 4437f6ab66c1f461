package servers

import (
	"encoding/base64"
	"strings"
	"testing"

	"google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/descriptorpb"
)

// greeter returns the descriptors of a service demo.Greeter in base64, as protoc writes them.
func greeter(t *testing.T) string {
	t.Helper()
	text, label := descriptorpb.FieldDescriptorProto_TYPE_STRING, descriptorpb.FieldDescriptorProto_LABEL_OPTIONAL
	message := func(name, field string) *descriptorpb.DescriptorProto {
		return &descriptorpb.DescriptorProto{Name: &name, Field: []*descriptorpb.FieldDescriptorProto{{Name: &field, Number: proto.Int32(1), Type: &text, Label: &label, JsonName: &field}}}
	}
	method := func(name string, streams bool) *descriptorpb.MethodDescriptorProto {
		return &descriptorpb.MethodDescriptorProto{Name: &name, InputType: proto.String(".demo.Asked"), OutputType: proto.String(".demo.Answered"), ServerStreaming: &streams}
	}
	data, err := proto.Marshal(&descriptorpb.FileDescriptorSet{File: []*descriptorpb.FileDescriptorProto{{
		Name: proto.String("demo.proto"), Package: proto.String("demo"), Syntax: proto.String("proto3"),
		MessageType: []*descriptorpb.DescriptorProto{message("Asked", "name"), message("Answered", "text")},
		Service:     []*descriptorpb.ServiceDescriptorProto{{Name: proto.String("Greeter"), Method: []*descriptorpb.MethodDescriptorProto{method("Say", false), method("List", true)}}},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	return base64.StdEncoding.EncodeToString(data)
}

func TestSchema(t *testing.T) {
	t.Parallel()
	s, err := newSchema(greeter(t))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := s.Request("/demo.Greeter/Say", []byte("\n\x03ann")); err != nil || got != `{"name":"ann"}` {
		t.Errorf("request %q, %v", got, err)
	}
	if got, err := s.Request("/other/Say", []byte("ann")); err != nil || got != "YW5u" {
		t.Errorf("request of an unknown method %q, %v", got, err)
	}
	if _, err := s.Request("/demo.Greeter/Say", []byte("\xff")); err == nil {
		t.Error("a damaged message is read")
	}
	for _, tt := range []struct {
		path   string
		answer Answer
		want   string
	}{
		{"/demo.Greeter/Say", Answer{HasBody: true, IsJSON: true, Body: `{"text": "hi"}`}, "\n\x02hi"},
		{"/demo.Greeter/List", Answer{HasBody: true, IsJSON: true, Body: `[{"text": "a"}, {"text": "b"}]`}, "\n\x01a|\n\x01b"},
		{"/demo.Greeter/Say", Answer{}, ""},
		{"/other/Say", Answer{HasBody: true, Body: "YW5u"}, "ann"},
		{"/other/Say", Answer{HasBody: true, Body: "!"}, "INTERNAL: the server's description: body is no base64"},
		{"/other/Say", Answer{HasBody: true, IsJSON: true, Body: "{}"}, "INTERNAL: the server's description: json needs descriptors that have /other/Say"},
		{"/demo.Greeter/Say", Answer{HasBody: true, IsJSON: true, Body: `{"nope": 1}`}, "INTERNAL: the server's description: the answer is no demo.Answered"},
		{"/demo.Greeter/Say", Answer{Code: CodeNotFound, Message: "who"}, "NOT_FOUND: who"},
		{"/demo.Greeter/Say", *s.Unrouted(&Request{Path: "/demo.Greeter/Say"}), "UNIMPLEMENTED: no route answers /demo.Greeter/Say"},
		{"/x.Y/Z", *s.Unrouted(&Request{Path: "/x.Y/Z"}), "UNIMPLEMENTED: unknown service x.Y"},
		{HealthCheck, *s.Unrouted(&Request{Path: HealthCheck, Body: `{"service":"demo.Greeter"}`}), "\x08\x01"},
		{HealthCheck, *s.Unrouted(&Request{Path: HealthCheck, Body: `{"service":"x"}`}), "NOT_FOUND: unknown service"},
	} {
		messages, err := s.Messages(tt.path, &tt.answer)
		var got []string
		for _, m := range messages {
			got = append(got, string(m))
		}
		if text := strings.Join(got, "|"); err == nil && text != tt.want || err != nil && err.Error() != tt.want {
			t.Errorf("%s %+v: got %q, %v, want %q", tt.path, tt.answer, text, err, tt.want)
		}
	}
	for text, want := range map[string]string{"": "", "!": "no base64", base64.StdEncoding.EncodeToString([]byte("nonsense")): "no FileDescriptorSet"} {
		if _, err := newSchema(text); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestReflect(t *testing.T) {
	t.Parallel()
	s, err := newSchema(greeter(t))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, service := range s.Reflect(&grpc_reflection_v1.ServerReflectionRequest{MessageRequest: &grpc_reflection_v1.ServerReflectionRequest_ListServices{}}).GetListServicesResponse().GetService() {
		names = append(names, service.GetName())
	}
	if got := strings.Join(names, " "); got != "demo.Greeter grpc.health.v1.Health grpc.reflection.v1.ServerReflection" {
		t.Errorf("services %s", got)
	}
	for symbol, want := range map[string]int{"demo.Greeter": 1, "demo.Asked": 1, "grpc.health.v1.Health": 1, "nope": 0} {
		answer := s.Reflect(&grpc_reflection_v1.ServerReflectionRequest{MessageRequest: &grpc_reflection_v1.ServerReflectionRequest_FileContainingSymbol{FileContainingSymbol: symbol}})
		if got := len(answer.GetFileDescriptorResponse().GetFileDescriptorProto()); got != want || want == 0 && answer.GetErrorResponse().GetErrorCode() != int32(CodeNotFound) {
			t.Errorf("%s: %v", symbol, answer)
		}
	}
}
