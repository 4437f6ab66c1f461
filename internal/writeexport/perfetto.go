package writeexport

import (
	"bufio"
	"fmt"
	"io"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"minikcm.dev/minikcm"
)

// The fields of Perfetto's messages that a trace uses, as in its protos/perfetto/trace.
const (
	traceOfPacket = 1 // Trace.packet

	packetTimestamp       = 8
	packetSequence        = 10
	packetTrackEvent      = 11
	packetSequenceFlags   = 13
	packetTrackDescriptor = 60

	trackUUID   = 1
	trackName   = 2
	trackParent = 5

	eventAnnotations     = 4
	eventType            = 9
	eventTrack           = 11
	eventCategories      = 22
	eventName            = 23
	eventFlows           = 47 // fixed64
	eventTerminatedFlows = 48 // fixed64

	annotationInt  = 4
	annotationText = 6
	annotationName = 10

	typeInstant             = 3
	incrementalStateCleared = 1
	// sequence is the ID of the only sequence of packets.
	sequence = 1
	// root is the UUID of the track above the actors' tracks, whose UUIDs follow it.
	root = 1
)

// Perfetto writes the record as a trace of Perfetto's TrackEvents: a track for each actor, an
// instant for each write, and a flow from each cause to its effect. Timestamps are nanoseconds
// since the first write.
func Perfetto(w io.Writer, writes []minikcm.Write) error {
	out := bufio.NewWriter(w)
	if err := (&trace{out: out}).write(writes); err != nil {
		return fmt.Errorf("writing the trace: %w", err)
	}
	if err := out.Flush(); err != nil {
		return fmt.Errorf("writing the trace: %w", err)
	}
	return nil
}

type trace struct {
	out    io.Writer
	tracks map[string]uint64
	begun  bool
}

func (t *trace) write(writes []minikcm.Write) error {
	if len(writes) == 0 {
		return nil
	}
	t.tracks = map[string]uint64{}
	if err := t.packet(packetTrackDescriptor, track(root, 0, "Writes")); err != nil {
		return err
	}
	// A flow is identified by a number: leaving has the flows that begin at a revision,
	// arriving the flows that end there.
	leaving, arriving := map[int64][]uint64{}, map[int64][]uint64{}
	for i, e := range graphOf(writes).edges {
		flow := uint64(i) + 1
		leaving[e.from] = append(leaving[e.from], flow)
		arriving[e.to] = append(arriving[e.to], flow)
	}
	start := writes[0].Time
	for i := range writes {
		write := &writes[i]
		uuid, err := t.trackOf(write.Actor)
		if err != nil {
			return err
		}
		event := event(write, uuid, leaving[write.Revision], arriving[write.Revision])
		if err := t.packetAt(write.Time.Sub(start), packetTrackEvent, event); err != nil {
			return err
		}
	}
	return nil
}

// trackOf returns the UUID of an actor's track, and writes the track's descriptor before its
// first event.
func (t *trace) trackOf(actor string) (uint64, error) {
	if uuid, ok := t.tracks[actor]; ok {
		return uuid, nil
	}
	uuid := root + 1 + uint64(len(t.tracks))
	t.tracks[actor] = uuid
	return uuid, t.packet(packetTrackDescriptor, track(uuid, root, actor))
}

func track(uuid, parent uint64, name string) []byte {
	b := varint(nil, trackUUID, uuid)
	b = text(b, trackName, name)
	if parent != 0 {
		b = varint(b, trackParent, parent)
	}
	return b
}

func event(write *minikcm.Write, track uint64, leaving, arriving []uint64) []byte {
	titles := lines(write)
	b := varint(nil, eventType, typeInstant)
	b = varint(b, eventTrack, track)
	b = text(b, eventName, titles[0])
	b = text(b, eventCategories, write.Resource.Resource)
	b = message(b, eventAnnotations, varint(text(nil, annotationName, "revision"), annotationInt, uint64(write.Revision)))
	for _, annotation := range [][2]string{
		{"time", write.Time.UTC().Format(time.RFC3339Nano)}, {"userAgent", write.UserAgent}, {"effect", string(write.Effect)}, {"causes", revisions(write.Causes)},
	} {
		if annotation[1] != "" {
			b = message(b, eventAnnotations, text(text(nil, annotationName, annotation[0]), annotationText, annotation[1]))
		}
	}
	for _, change := range write.Changes {
		b = message(b, eventAnnotations, text(text(nil, annotationName, change.Path), annotationText, change.From+" -> "+change.To))
	}
	for _, flow := range leaving {
		b = protowire.AppendFixed64(protowire.AppendTag(b, eventFlows, protowire.Fixed64Type), flow)
	}
	for _, flow := range arriving {
		b = protowire.AppendFixed64(protowire.AppendTag(b, eventTerminatedFlows, protowire.Fixed64Type), flow)
	}
	return b
}

func (t *trace) packet(field protowire.Number, content []byte) error {
	return t.packetAt(0, field, content)
}

// packetAt writes a packet. Writes of a record are in order, so that no time is negative unless
// the clock was set back.
func (t *trace) packetAt(at time.Duration, field protowire.Number, content []byte) error {
	b := varint(nil, packetTimestamp, uint64(max(at, 0)))
	b = varint(b, packetSequence, sequence)
	if !t.begun {
		t.begun = true
		b = varint(b, packetSequenceFlags, incrementalStateCleared)
	}
	b = message(b, field, content)
	_, err := t.out.Write(message(nil, traceOfPacket, b))
	return err
}

func varint(b []byte, field protowire.Number, value uint64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(b, field, protowire.VarintType), value)
}

func text(b []byte, field protowire.Number, value string) []byte {
	return protowire.AppendString(protowire.AppendTag(b, field, protowire.BytesType), value)
}

func message(b []byte, field protowire.Number, value []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(b, field, protowire.BytesType), value)
}
