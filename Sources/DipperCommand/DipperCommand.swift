@main
struct DipperCommand {
  static func main() {}
}
