fn main() {
    cni_host::run(include!(concat!(env!("OUT_DIR"), "/bridge.rs")))
}
