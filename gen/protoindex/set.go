package protoindex

import (
	"fmt"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/descriptorpb"
)

// readSet adds the files of an encoded FileDescriptorSet. The Go package of a
// file is the one of its go_package option, else the one that its messages'
// names lead to, else the one that the descriptor gives for a wanted message. A
// file that is there already is kept.
func readSet(data []byte, files map[string]file) error {
	set := new(descriptorpb.FileDescriptorSet)
	if err := proto.Unmarshal(data, set); err != nil {
		return fmt.Errorf("not a FileDescriptorSet: %w", err)
	}
	for _, fd := range set.GetFile() {
		if _, ok := files[fd.GetName()]; ok {
			continue
		}
		f := file{proto: fd, inSet: true}
		f.importPath, f.name, _ = strings.Cut(fd.GetOptions().GetGoPackage(), ";")
		if f.importPath == "" && len(fd.GetMessageType()) > 0 {
			f.importPath, _ = GoPackage(fd.GetPackage() + "." + fd.GetMessageType()[0].GetName())
		}
		if f.importPath == "" {
			// Read for its types only; nothing that is generated imports it.
			f.importPath = "unknown.invalid/" + strings.TrimSuffix(fd.GetName(), ".proto")
		}
		files[fd.GetName()] = f
	}
	return nil
}
