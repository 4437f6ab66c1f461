package servers

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"
)

// HealthCheck is the path of gRPC's health checks.
const HealthCheck = "/grpc.health.v1.Health/Check"

// Schema holds the descriptors of the services and messages of a gRPC server. Besides the services of its description, each server has the
// health and reflection services.
type Schema struct {
	files    *protoregistry.Files
	types    *dynamicpb.Types
	services []string
}

// newSchema reads a FileDescriptorSet in base64, as protoc --descriptor_set_out writes it; an empty text has no services.
func newSchema(text string) (*Schema, error) {
	data, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(text), ""))
	if err != nil {
		return nil, fmt.Errorf("it is no base64: %w", err)
	}
	set := &descriptorpb.FileDescriptorSet{}
	if err := proto.Unmarshal(data, set); err != nil {
		return nil, errors.New("it is no FileDescriptorSet (protoc --include_imports --descriptor_set_out)")
	}
	for _, file := range []protoreflect.FileDescriptor{grpc_health_v1.File_grpc_health_v1_health_proto, grpc_reflection_v1.File_grpc_reflection_v1_reflection_proto} {
		if !slices.ContainsFunc(set.File, func(f *descriptorpb.FileDescriptorProto) bool {
			return f.GetName() == file.Path() || f.GetPackage() == string(file.Package())
		}) {
			set.File = append(set.File, protodesc.ToFileDescriptorProto(file))
		}
	}
	files, err := protodesc.NewFiles(set)
	if err != nil {
		return nil, fmt.Errorf("its files do not fit together (protoc --include_imports): %w", err)
	}
	s := &Schema{files: files, types: dynamicpb.NewTypes(files)}
	for _, file := range set.File {
		for _, service := range file.Service {
			name := service.GetName()
			if file.GetPackage() != "" {
				name = file.GetPackage() + "." + name
			}
			s.services = append(s.services, name)
		}
	}
	slices.Sort(s.services)
	return s, nil
}

// method returns the method that the path of a call names; nil if there is none. known reports whether its service is known.
func (s *Schema) method(path string) (method protoreflect.MethodDescriptor, known bool) {
	name, call, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	found, err := s.files.FindDescriptorByName(protoreflect.FullName(name))
	service, ok := found.(protoreflect.ServiceDescriptor)
	if err != nil || !ok {
		return nil, false
	}
	return service.Methods().ByName(protoreflect.Name(call)), true
}

// StatusError is a status of gRPC in place of an answer.
type StatusError struct {
	Code Code
	Why  string
}

// Error implements error.
func (e *StatusError) Error() string { return e.Code.String() + ": " + e.Why }

// Reflects reports whether a path is the call of the reflection service, whose messages are the same in both versions.
func (s *Schema) Reflects(path string) bool {
	return path == "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo" || path == "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo"
}

// Request returns the message of a call as expressions see it: as JSON or, of a method that is not known, in base64.
func (s *Schema) Request(path string, message []byte) (string, error) {
	method, _ := s.method(path)
	if method == nil {
		return base64.StdEncoding.EncodeToString(message), nil
	}
	m := dynamicpb.NewMessage(method.Input())
	if err := (proto.UnmarshalOptions{Resolver: s.types}).Unmarshal(message, m); err != nil {
		return "", &StatusError{CodeInvalid, fmt.Sprintf("the message is no %s", method.Input().FullName())}
	}
	data, err := protojson.MarshalOptions{Resolver: s.types, EmitDefaultValues: true}.Marshal(m)
	if err != nil {
		return "", &StatusError{CodeInternal, fmt.Sprintf("writing a %s as JSON: %v", method.Input().FullName(), err)}
	}
	var compact bytes.Buffer // protojson's own spaces differ between builds
	if err := json.Compact(&compact, data); err != nil {
		return "", &StatusError{CodeInternal, err.Error()}
	}
	return compact.String(), nil
}

// Unrouted returns the answer to a call for which there is no route: a health check succeeds.
func (s *Schema) Unrouted(r *Request) *Answer {
	if r.Path != HealthCheck {
		name, _, _ := strings.Cut(strings.TrimPrefix(r.Path, "/"), "/")
		if _, known := s.method(r.Path); known {
			return &Answer{Code: CodeUnimplemented, Message: "no route answers " + r.Path}
		}
		return &Answer{Code: CodeUnimplemented, Message: "unknown service " + name}
	}
	var asked struct {
		Service string `json:"service"`
	}
	if err := json.Unmarshal([]byte(r.Body), &asked); err != nil || asked.Service != "" && !slices.Contains(s.services, asked.Service) {
		return &Answer{Code: CodeNotFound, Message: "unknown service"}
	}
	return &Answer{HasBody: true, IsJSON: true, Body: `{"status": "SERVING"}`}
}

// Messages returns the messages of an answer, or a *StatusError.
func (s *Schema) Messages(path string, a *Answer) ([][]byte, error) {
	switch {
	case a.Code != CodeOK:
		return nil, &StatusError{a.Code, a.Message}
	case !a.HasBody:
		return [][]byte{{}}, nil
	case !a.IsJSON:
		data, err := base64.StdEncoding.DecodeString(strings.TrimSpace(a.Body))
		if err != nil {
			return nil, &StatusError{CodeInternal, "the server's description: body is no base64"}
		}
		return [][]byte{data}, nil
	}
	method, _ := s.method(path)
	if method == nil {
		return nil, &StatusError{CodeInternal, "the server's description: json needs descriptors that have " + path}
	}
	messages, err := s.encode(method, a.Body)
	if err != nil {
		return nil, &StatusError{CodeInternal, "the server's description: " + err.Error()}
	}
	return messages, nil
}

// encode converts an answer from JSON to the wire format. It returns one message or, for a list from a method that streams its answers, one
// message for each element.
func (s *Schema) encode(method protoreflect.MethodDescriptor, text string) ([][]byte, error) {
	all := []json.RawMessage{json.RawMessage(text)}
	if method.IsStreamingServer() && strings.HasPrefix(strings.TrimSpace(text), "[") {
		all = nil
		if err := json.Unmarshal([]byte(text), &all); err != nil {
			return nil, fmt.Errorf("reading the list of answers: %w", err)
		}
	}
	var messages [][]byte
	for _, one := range all {
		m := dynamicpb.NewMessage(method.Output())
		if err := (protojson.UnmarshalOptions{Resolver: s.types}).Unmarshal(one, m); err != nil {
			return nil, fmt.Errorf("the answer is no %s", method.Output().FullName())
		}
		data, err := proto.MarshalOptions{Deterministic: true}.Marshal(m)
		if err != nil {
			return nil, fmt.Errorf("encoding a %s: %w", method.Output().FullName(), err)
		}
		messages = append(messages, data)
	}
	return messages, nil
}

// Health returns the status in the answer to a health check.
func Health(message []byte) string {
	answer := &grpc_health_v1.HealthCheckResponse{}
	if err := proto.Unmarshal(message, answer); err != nil {
		return "UNKNOWN"
	}
	return answer.GetStatus().String()
}

// Reflect answers a question of the reflection service.
func (s *Schema) Reflect(q *grpc_reflection_v1.ServerReflectionRequest) *grpc_reflection_v1.ServerReflectionResponse {
	answer := &grpc_reflection_v1.ServerReflectionResponse{ValidHost: q.GetHost(), OriginalRequest: q}
	fail := func(code Code, why string) *grpc_reflection_v1.ServerReflectionResponse {
		answer.MessageResponse = &grpc_reflection_v1.ServerReflectionResponse_ErrorResponse{ErrorResponse: &grpc_reflection_v1.ErrorResponse{ErrorCode: int32(code), ErrorMessage: why}}
		return answer
	}
	var file protoreflect.FileDescriptor
	var err error
	switch of := q.GetMessageRequest().(type) {
	case *grpc_reflection_v1.ServerReflectionRequest_ListServices:
		list := &grpc_reflection_v1.ListServiceResponse{}
		for _, name := range s.services {
			list.Service = append(list.Service, &grpc_reflection_v1.ServiceResponse{Name: name})
		}
		answer.MessageResponse = &grpc_reflection_v1.ServerReflectionResponse_ListServicesResponse{ListServicesResponse: list}
		return answer
	case *grpc_reflection_v1.ServerReflectionRequest_FileByFilename:
		file, err = s.files.FindFileByPath(of.FileByFilename)
	case *grpc_reflection_v1.ServerReflectionRequest_FileContainingSymbol:
		var found protoreflect.Descriptor
		if found, err = s.files.FindDescriptorByName(protoreflect.FullName(of.FileContainingSymbol)); err == nil {
			file = found.ParentFile()
		}
	default:
		return fail(CodeNotFound, "extensions are not known")
	}
	if err != nil {
		return fail(CodeNotFound, err.Error())
	}
	files := &grpc_reflection_v1.FileDescriptorResponse{}
	if err := appendFile(&files.FileDescriptorProto, file, map[string]bool{}); err != nil {
		return fail(CodeInternal, err.Error())
	}
	answer.MessageResponse = &grpc_reflection_v1.ServerReflectionResponse_FileDescriptorResponse{FileDescriptorResponse: files}
	return answer
}

// appendFile appends the encoded descriptor of a file, and those of its imports.
func appendFile(to *[][]byte, f protoreflect.FileDescriptor, seen map[string]bool) error {
	if seen[f.Path()] || f.IsPlaceholder() {
		return nil
	}
	seen[f.Path()] = true
	data, err := proto.MarshalOptions{Deterministic: true}.Marshal(protodesc.ToFileDescriptorProto(f))
	if err != nil {
		return fmt.Errorf("encoding %s: %w", f.Path(), err)
	}
	*to = append(*to, data)
	for i := range f.Imports().Len() {
		if err := appendFile(to, f.Imports().Get(i).FileDescriptor, seen); err != nil {
			return err
		}
	}
	return nil
}

// Code is the number of a status of gRPC.
type Code int

// The codes that servers answer with by themselves.
const (
	CodeOK            Code = 0
	CodeInvalid       Code = 3
	CodeNotFound      Code = 5
	CodeTooLarge      Code = 8
	CodeUnimplemented Code = 12
	CodeInternal      Code = 13
)

// codeNames has the names of the codes, by their numbers.
var codeNames = []string{
	"OK", "CANCELLED", "UNKNOWN", "INVALID_ARGUMENT", "DEADLINE_EXCEEDED", "NOT_FOUND", "ALREADY_EXISTS", "PERMISSION_DENIED", "RESOURCE_EXHAUSTED",
	"FAILED_PRECONDITION", "ABORTED", "OUT_OF_RANGE", "UNIMPLEMENTED", "INTERNAL", "UNAVAILABLE", "DATA_LOSS", "UNAUTHENTICATED",
}

// String returns the name of a code.
func (c Code) String() string {
	if c < 0 || int(c) >= len(codeNames) {
		return fmt.Sprintf("CODE(%d)", int(c))
	}
	return codeNames[c]
}

// codeOf reads the name or the number of a status.
func codeOf(text string) (Code, error) {
	text = strings.TrimSpace(text)
	if i := slices.Index(codeNames, strings.ToUpper(text)); i >= 0 {
		return Code(i), nil
	}
	n, err := intOf(text, 0, int64(len(codeNames)-1))
	if err != nil {
		return 0, fmt.Errorf("%q is no status of gRPC, such as NOT_FOUND or 5", text)
	}
	return Code(n), nil
}
