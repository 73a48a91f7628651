package protoindex

import (
	"fmt"
	"go/token"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/descriptorpb"
)

// Unknown starts the import paths of files whose Go package is not known. They are
// read for their types; code that imports one cannot be built.
const Unknown = "unknown.invalid/"

// readSet adds the files of an encoded FileDescriptorSet. The Go package of a file is that of its
// go_package option. Otherwise it follows from the names of its messages, or from the descriptor's
// import path of a requested message. A file that is there already is kept.
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
		f.importPath, f.name = goPackageOption(fd)
		if f.importPath == "" && len(fd.GetMessageType()) > 0 {
			f.importPath = GoPackage(fd.GetPackage() + "." + fd.GetMessageType()[0].GetName())
		}
		if f.importPath == "" {
			f.importPath = Unknown + strings.TrimSuffix(fd.GetName(), ".proto")
		}
		files[fd.GetName()] = f
	}
	return nil
}

// goPackageOption returns the Go package that a file declares. It ignores a path that only
// tells protoc where to write. If the name is not an identifier, protogen finds a name.
func goPackageOption(fd *descriptorpb.FileDescriptorProto) (path, name string) {
	path, name, _ = strings.Cut(fd.GetOptions().GetGoPackage(), ";")
	if strings.HasPrefix(path, ".") || !strings.ContainsAny(path, "./") {
		path = ""
	}
	if !token.IsIdentifier(name) {
		name = ""
	}
	return path, name
}
